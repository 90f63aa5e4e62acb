#include "core/ids.hpp"

#include <array>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon::core;

namespace {

const Bytes16 kId{0x0f, 0x1e, 0x2d, 0x3c, 0x4b, 0x5a, 0x49, 0x78,
                  0x87, 0x96, 0xa5, 0xb4, 0xc3, 0xd2, 0xe1, 0xf0};
constexpr auto kHex = "0f1e2d3c4b5a49788796a5b4c3d2e1f0";
constexpr auto kDashed = "0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0";

Timestamp at_ms(std::int64_t ms) { return Timestamp{std::chrono::milliseconds{ms}}; }

}  // namespace

TEST_CASE("an id is written as 32 hex digits and in the dashed form") {
    CHECK(to_hex(kId) == kHex);
    CHECK(to_dashed(kId) == kDashed);
    std::string out = "x/";
    append_hex(out, kId);
    out.push_back('/');
    append_dashed(out, kId);
    CHECK(out == std::string{"x/"} + kHex + "/" + kDashed);
}

TEST_CASE("the four notations of a UUID are read, in any case") {
    CHECK(parse_uuid(kHex) == kId);
    CHECK(parse_uuid("0F1E2D3C4B5A49788796A5B4C3D2E1F0") == kId);
    CHECK(parse_uuid(kDashed) == kId);
    CHECK(parse_uuid("0F1e2D3c-4b5A-4978-8796-A5b4C3d2E1f0") == kId);
    CHECK(parse_uuid(std::string{"{"} + kDashed + "}") == kId);
    CHECK(parse_uuid(std::string{"urn:uuid:"} + kDashed) == kId);
}

TEST_CASE("a text that is no UUID is refused") {
    const auto text = GENERATE(
        as<std::string>{}, "", "0", "0f1e2d3c4b5a49788796a5b4c3d2e1f",
        "0f1e2d3c4b5a49788796a5b4c3d2e1f00", "0f1e2d3c4b5a49788796a5b4c3d2e1fg",
        "0f1e2d3c4b5a49788796a5b4c3d2e1f/",
        "0f1e2d3c4b5a49788796a5b4c3d2e1f:", "0f1e2d3c4b5a-4978-8796-a5b4c3d2e1f0--",
        "0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f", "0f1e2d3c-4b5a-4978-8796a-5b4c3d2e1f0",
        "-0f1e2d3c4b5a-4978-8796-a5b4c3d2e1f0", "{0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0",
        "(0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0)", "{0f1e2d3c4b5a49788796a5b4c3d2e1f0}",
        "urn:uuid:0f1e2d3c4b5a49788796a5b4c3d2e1f", "urn:guid:0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0",
        "\xc3\xa9"
        "1e2d3c4b5a49788796a5b4c3d2e1f0");
    CAPTURE(text);
    CHECK_FALSE(parse_uuid(text));
}

TEST_CASE("log keys take one notation only") {
    CHECK(parse_hex16(kHex) == kId);
    CHECK_FALSE(parse_hex16("0F1E2D3C4B5A49788796A5B4C3D2E1F0"));
    CHECK_FALSE(parse_hex16(kDashed));
    CHECK(parse_dashed(kDashed) == kId);
    CHECK_FALSE(parse_dashed("0F1E2D3C-4b5a-4978-8796-a5b4c3d2e1f0"));
    CHECK_FALSE(parse_dashed(kHex));
    CHECK_FALSE(parse_dashed(std::string{"{"} + kDashed + "}"));
}

TEST_CASE("any id is read back from its text") {
    for (int i = 0; i < 500; ++i) {
        const auto id = random_uuid4();
        REQUIRE(parse_hex16(to_hex(id)) == id);
        REQUIRE(parse_dashed(to_dashed(id)) == id);
    }
}

TEST_CASE("a random id is a UUIDv4 and a message key a UUIDv7") {
    std::set<Bytes16> seen;
    for (int i = 0; i < 200; ++i) {
        const auto uuid = random_uuid4();
        CHECK((uuid[6] >> 4) == 4);
        CHECK((uuid[8] >> 6) == 2);
        const auto key = new_message_key(at_ms(1'790'000'000'000));
        CHECK((key.bytes[6] >> 4) == 7);
        CHECK((key.bytes[8] >> 6) == 2);
        seen.insert(uuid);
        seen.insert(key.bytes);
    }
    CHECK(seen.size() == 400);
}

TEST_CASE("threads never make the same key") {
    constexpr std::size_t kKeys = 5'000;
    std::array<std::vector<MessageKey>, 3> made;
    {
        std::vector<std::jthread> threads;
        for (auto& keys : made) {
            threads.emplace_back([&keys] {
                for (std::size_t i = 0; i < kKeys; ++i) keys.push_back(new_message_key(at_ms(1)));
            });
        }
    }
    std::set<Bytes16> seen;
    for (const auto& keys : made) {
        for (const auto& key : keys) seen.insert(key.bytes);
    }
    CHECK(seen.size() == made.size() * kKeys);
}

TEST_CASE("message keys sort by time and begin with it") {
    const auto older = new_message_key(at_ms(1'700'000'000'123));
    const auto newer = new_message_key(at_ms(1'700'000'000'124));
    CHECK(older < newer);
    CHECK(to_hex(older).substr(0, 12) == "018bcfe5687b");  // 1,700,000,000,123 ms
}

TEST_CASE("a node id is 16 hex digits and new each time") {
    const auto a = NodeId::random();
    const auto b = NodeId::random();
    CHECK(a != b);
    CHECK(a.text.size() == 16);
    CHECK(a.text.find_first_not_of("0123456789abcdef") == std::string::npos);
}
