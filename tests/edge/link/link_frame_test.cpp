#include "edge/link/link_frame.hpp"

#include "records/events.hpp"

#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using edge::CloseCode;
using edge::SessionId;
using edge::ToFront;
using edge::ToHome;
using namespace edge::link;

namespace {

const core::NodeId kFront{"00000000000000aa"};
const core::NodeId kHome{"00000000000000bb"};
const core::Uaid kUaid{core::Bytes16{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
const core::ChannelId kChannel{core::Bytes16{0xaa, 0xbb}};
const SessionId kSession{.front = kFront, .shard = 3, .number = 0x1122334455667788};

std::string bytes_of(const Frame& frame) {
    std::string out;
    REQUIRE(append_frame(out, frame));
    return out;
}

std::vector<Frame> every_frame() {
    return {Greeting{.node = kHome, .log_id = "log-1"},
            Ping{7},
            Pong{8},
            ToHome{edge::Attach{kSession, kUaid, true}},
            ToHome{edge::Attach{kSession, kUaid, false}},
            ToHome{edge::Attach{kSession, kUaid, true, edge::Attach::Again{{3, 4}, true}}},
            ToHome{edge::Attach{kSession, kUaid, false, edge::Attach::Again{{5, 6}, false}}},
            ToHome{edge::FromClient{kSession, kUaid, edge::Register{kChannel, std::nullopt}}},
            ToHome{edge::FromClient{kSession, kUaid, edge::Register{kChannel, ""}}},
            ToHome{edge::FromClient{kSession, kUaid, edge::Register{kChannel, "BA=="}}},
            ToHome{edge::FromClient{kSession, kUaid, edge::Unregister{kChannel, 0xffffffff}}},
            ToHome{edge::FromClient{kSession, kUaid, edge::Ack{}}},
            ToHome{edge::FromClient{kSession, kUaid,
                                    edge::Ack{{{kChannel, "v1", 100}, {{}, "", 65'535}}}}},
            ToHome{edge::FromClient{kSession, kUaid, edge::Nack{"v1", -2'147'483'648}}},
            ToHome{edge::FromClient{kSession, kUaid, edge::Nack{std::string(70'000, 'x'), 301}}},
            ToHome{edge::FromClient{kSession, kUaid, edge::Ping{}}},
            ToHome{edge::Detach{kSession, kUaid}},
            ToFront{edge::ToClient{kSession, "{}"}},
            ToFront{edge::CloseClient{kSession, CloseCode::try_again, "moved"}},
            ToFront{edge::CloseClient{kSession, CloseCode::try_again, "full",
                                      edge::CloseClient::Kind::held}},
            ToFront{edge::CloseClient{kSession, CloseCode::try_again, "moved",
                                      edge::CloseClient::Kind::released}},
            ToFront{edge::Attached{kSession, kUaid, {7, 8}, true}}};
}

}  // namespace

TEST_CASE("every link frame survives its bytes") {
    for (const auto& frame : every_frame()) {
        const bool to_front = std::holds_alternative<ToFront>(frame);
        // The receiver of a ToFront holds the socket; the sender of a ToHome does.
        FrameReader reader{to_front ? Ends{.self = kFront, .peer = kHome}
                                    : Ends{.self = kHome, .peer = kFront}};
        reader.append(bytes_of(frame));
        const auto read = reader.next();
        REQUIRE(read);
        REQUIRE(*read);
        CHECK((**read == frame));
        CHECK_FALSE(*reader.next());
    }
}

TEST_CASE("link frames survive any cut of the stream") {
    std::string stream;
    std::vector<Frame> expected;
    for (const auto& frame : every_frame()) {
        if (std::holds_alternative<ToFront>(frame)) continue;
        stream += bytes_of(frame);
        expected.push_back(frame);
    }
    const auto seed = GENERATE(range(0U, 20U));
    CAPTURE(seed);
    std::minstd_rand random{seed};
    FrameReader reader{{.self = kHome, .peer = kFront}};
    std::vector<Frame> read;
    for (std::size_t at = 0; at < stream.size();) {
        const auto size = std::min<std::size_t>(1 + random() % 9'000, stream.size() - at);
        reader.append(std::string_view{stream}.substr(at, size));
        at += size;
        for (;;) {
            const auto frame = reader.next();
            REQUIRE(frame);
            if (!*frame) break;
            read.push_back(**frame);
        }
    }
    CHECK((read == expected));
}

TEST_CASE("a link refuses frames that break the format") {
    using namespace std::string_literals;
    const auto [name, bytes, fault] = GENERATE(table<std::string, std::string, core::Fault>({
        {"no kind", "\0\0\0\0"s, core::Fault::invalid},
        {"unknown kind", "\1\0\0\0\x63"s, core::Fault::invalid},
        {"ping without its number", "\3\0\0\0\2ab"s, core::Fault::invalid},
        {"ping with too much", "\xa\0\0\0\2abcdefghi"s, core::Fault::invalid},
        {"detach without uaid", "\xd\0\0\0\x12"s + std::string(12, 'a'), core::Fault::invalid},
        {"attach with a strange flag", "\x1e\0\0\0\x10"s + std::string(28, 'a') + "\2"s,
         core::Fault::invalid},
        {"an unknown command", "\x1e\0\0\0\x11"s + std::string(28, 'a') + "\6"s,
         core::Fault::invalid},
        {"a command of no kind", "\x1d\0\0\0\x11"s + std::string(28, 'a'), core::Fault::invalid},
        {"a ping with a field", "\x1f\0\0\0\x11"s + std::string(28, 'a') + "\5x"s,
         core::Fault::invalid},
        {"an ack whose version is longer than the frame",
         "\x34\0\0\0\x11"s + std::string(28, 'a') + "\3"s + std::string(18, 'c') + "\xff\0\0\0"s,
         core::Fault::invalid},
        {"greeting without a node", "\5\0\0\0\1\1\0\1\0"s, core::Fault::invalid},
        {"larger than allowed", "\1\0\x10\0"s, core::Fault::too_large},
    }));
    CAPTURE(name);
    FrameReader reader{{.self = kHome, .peer = kFront}};
    reader.append(bytes);
    const auto frame = reader.next();
    REQUIRE(!frame);
    CHECK(frame.error().fault == fault);
}

TEST_CASE("a link frame that is too large is not written") {
    std::string out = "before";
    const ToFront large = edge::ToClient{kSession, std::string(kFrameBytesMax, 'x')};
    const auto written = append_frame(out, large);
    REQUIRE(!written);
    CHECK(written.error().fault == core::Fault::too_large);
    CHECK(out == "before");
}
