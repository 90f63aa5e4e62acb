#include "log/embedded/record_format.hpp"

#include "log/contract_support.hpp"

#include <random>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::log::embedded;
using beckon::log::Topic;
using beckon::log::TopicPartition;

namespace {

std::string random_bytes(std::mt19937& random, std::size_t max) {
    std::string bytes(random() % (max + 1), '\0');
    for (auto& b : bytes) b = static_cast<char>(random());
    return bytes;
}

core::Record random_record(unsigned seed) {
    std::mt19937 random{seed};
    core::Record record{random_bytes(random, 300), std::nullopt, {}};
    if (random() % 3 != 0) record.value = random_bytes(random, 20'000);
    for (auto n = random() % 5; n > 0; --n) {
        record.headers.push_back({"ce_subject", random_bytes(random, 200)});
    }
    return record;
}

}  // namespace

TEST_CASE("a body decodes to the record it was made of") {
    const auto seed = GENERATE(range(0u, 100u));
    CAPTURE(seed);
    const auto record = random_record(seed);
    const auto body = encode_body(record);
    core::RecordView view;
    std::vector<core::HeaderView> headers;
    REQUIRE(decode_body(body, view, headers));
    CHECK(test::to_read(view) == test::expected(record, {0, core::Timestamp{}}));
    const auto key = decode_key(body);
    REQUIRE(key);
    CHECK(key->key == record.key);
    CHECK(key->tombstone == !record.value.has_value());
}

TEST_CASE("a cut or foreign body does not decode beyond its bytes") {
    core::RecordView view;
    std::vector<core::HeaderView> headers;
    const core::Record tombstone{"key", std::nullopt, {{"ce_reason", "acked"}}};
    const auto body = encode_body(tombstone);
    for (std::size_t size = 0; size < body.size(); ++size) {
        CHECK_FALSE(decode_body(body.substr(0, size), view, headers));
    }
    CHECK_FALSE(decode_body(body + "more", view, headers));
    CHECK_FALSE(decode_body("?" + body.substr(1), view, headers));
    CHECK_FALSE(decode_body("v\xff\xff\xff\xff\xff\xff", view, headers));
    CHECK_FALSE(decode_key(""));
    CHECK_FALSE(
        decode_key("v\x05"
                   "abc"));
}

TEST_CASE("keys sort by topic, partition and offset, and name them") {
    const std::vector<TopicPartition> places{
        {Topic::kNotifications, 0},   {Topic::kNotifications, 1},
        {Topic::kNotifications, 256}, {Topic::kNotifications, 65'534},
        {Topic::kControl, 0},         {Topic::retry(0), 0},
        {Topic::retry(31), 3}};
    const std::vector<core::Offset> offsets{0, 1, 255, 256, 65'536, core::Offset{1} << 40};
    std::string last;
    for (const auto& where : places) {
        CHECK(parse_partition_key(partition_key(where)) == where);
        for (const auto offset : offsets) {
            const auto key = record_key(where, offset);
            CHECK(key.size() == kRecordKeyBytes);
            CHECK(key > last);
            CHECK(parse_partition_key(key) == where);
            CHECK(offset_of_key(key) == offset);
            last = key;
        }
    }
    CHECK_FALSE(parse_partition_key("\x7f\x01\x01"));
    CHECK_FALSE(parse_partition_key("\x01"));
}
