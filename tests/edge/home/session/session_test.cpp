#include "edge/home/session/session.hpp"

#include "edge/home/session/sessions.hpp"
#include "edge/protocol/frames.hpp"

#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using edge::ChannelChange;
using edge::Effects;
using edge::Session;
using edge::Sessions;

namespace {

/// A client's session, with its frames as text.
struct Client {
    explicit Client(edge::WindowLimits l = {}, std::chrono::milliseconds ping = {})
        : options{.client_ping_interval_min = ping, .window = l}, session(id, uaid, options) {}

    Effects send_frame(std::string_view text) {
        return session.on(std::get<edge::ClientCommand>(*parser.parse(text)), tokens, now);
    }
    Effects ack(const std::string& version) {
        return send_frame(R"({"messageType":"ack","updates":[{"channelID":")" +
                          core::to_dashed(channel) + R"(","version":")" + version + R"("}]})");
    }
    std::string version_of(const core::MessageKey& key) { return tokens.seal_message({uaid, key}); }
    Effects nack(const core::MessageKey& key) {
        return send_frame(R"({"messageType":"nack","version":")" + version_of(key) + R"("})");
    }
    /// Folds a message; true if it was sent.
    bool gets(const core::MessageKey& key, std::uint32_t ttl_s = 60) {
        const auto version = version_of(key);
        core::NotificationAccepted message;
        message.uaid = uaid;
        message.key = key;
        message.message_id = version;
        message.channel = channel;
        message.ttl_s = ttl_s;
        return !session.on(message, folded++, now).frames.empty();
    }
    /// Like the call above, for a message that a drain reads from the store.
    bool reads(const core::MessageKey& key, core::Offset offset) {
        const auto version = version_of(key);
        store::MessageView message;
        message.offset = offset;
        message.key = key;
        message.channel = channel;
        message.message_id = version;
        return !session.on(message, now).frames.empty();
    }

    const edge::SessionId id{{"front"}, 0, 1};
    const core::Uaid uaid{core::random_uuid4()};
    const core::ChannelId channel{core::random_uuid4()};
    const edge::EdgeOptions options;
    core::Tokens tokens{std::make_shared<core::KeyRing>(core::KeyRing::generate())};
    edge::FrameParser parser;
    core::MonoTime now{};
    core::Offset folded = 0;  ///< messages, each at the next offset
    Session session;
};

core::MessageKey new_key() { return core::new_message_key(core::Timestamp{}); }

}  // namespace

TEST_CASE("a client that pings sooner than it may is closed") {
    Client client{{}, std::chrono::seconds{45}};
    CHECK(client.send_frame("{}").close == std::nullopt);  // the first may come at once
    client.now += std::chrono::milliseconds{44'999};
    SECTION("sooner") {
        const auto effects = client.send_frame(R"({"messageType":"ping"})");
        CHECK(effects.close == edge::closing::kPingTooSoon);
        CHECK(effects.frames.empty());
    }
    SECTION("in time") {
        client.now += std::chrono::milliseconds{1};
        CHECK(client.send_frame("{}").frames == std::vector<Effects::Frame>{{"{}", std::nullopt}});
    }
}

TEST_CASE("the codes of acks, nacks and unregisters are counted apart") {
    Client client;
    const auto codes = [&](std::string_view frame) {
        std::vector<std::string_view> names;
        for (const auto code : client.send_frame(frame).codes)
            names.push_back(edge::kAnswerCodes[code]);
        return names;
    };
    using Names = std::vector<std::string_view>;
    CHECK(codes(R"({"messageType":"nack","version":"v","code":303})") == Names{"nack_303"});
    CHECK(codes(R"({"messageType":"nack","version":"v"})") == Names{"nack_other"});
    const std::string id = core::to_dashed(client.channel);
    CHECK(codes(R"({"messageType":"unregister","channelID":")" + id + R"("})") ==
          Names{"unregister_200"});
    CHECK(codes(R"({"messageType":"unregister","channelID":")" + id + R"(","code":203})") ==
          Names{"unregister_other"});
    const auto update = [&](int code) {
        return R"({"channelID":")" + id + R"(","version":"v","code":)" + std::to_string(code) + "}";
    };
    CHECK(codes(R"({"messageType":"ack","updates":[)" + update(100) + "," + update(102) + "," +
                update(99) + "]}") == Names{"ack_100", "ack_102", "ack_other"});
}

TEST_CASE("each frame of a client, and its effects") {
    Client client;
    CHECK(client.send_frame("{}").frames == std::vector<Effects::Frame>{{"{}", std::nullopt}});
    CHECK(client.send_frame(R"({"messageType":"ack","updates":[]})") ==
          Effects{.command = edge::ClientCommand{edge::Ack{}}.index()});
}

TEST_CASE("registers and unregisters are answered later, and are bounded") {
    Client client;
    const auto add =
        R"({"messageType":"register","channelID":")" + core::to_dashed(client.channel) + R"("})";
    for (std::size_t i = 0; i < Session::kChangesInFlightMax; ++i) {
        const auto effects = client.send_frame(add);
        CHECK(effects.changes ==
              std::vector<ChannelChange>{{ChannelChange::Kind::add, client.channel, std::nullopt}});
        CHECK(effects.frames.empty());
    }
    const auto refused = client.send_frame(add);
    CHECK(refused.changes.empty());
    REQUIRE(refused.frames.size() == 1);
    CHECK(refused.frames[0].text == edge::register_frame(client.channel, 500, ""));
    client.session.change_answered();
    CHECK(client.send_frame(add).changes.size() == 1);
}

// Verified to fail when command() does not compare whose message a version names.
TEST_CASE("an ack that names another client's message does nothing") {
    Client client;
    const auto key = new_key();
    CHECK(client.ack(client.tokens.seal_message({core::Uaid{core::random_uuid4()}, key}))
              .acked.empty());
    CHECK(client.ack("nonsense").acked.empty());
    CHECK(client.ack(client.version_of(key)).acked ==
          std::vector<Effects::Answered>{{key}});  // of an earlier session
}

TEST_CASE("the code of an ack or nack goes with its effects, unless it is the usual one") {
    Client client;
    const auto key = new_key();
    const auto ack = [&](const std::string& code) {
        return client.send_frame(R"({"messageType":"ack","updates":[{"channelID":")" +
                                 core::to_dashed(client.channel) + R"(","version":")" +
                                 client.version_of(key) + R"(",)" + code + "}]}");
    };
    CHECK(ack(R"("code":101)").acked[0].code == 101);
    CHECK(ack(R"("code":100)").acked[0].code == std::nullopt);
    const auto unregister = [&](const std::string& code) {
        return client.send_frame(R"({"messageType":"unregister","channelID":")" +
                                 core::to_dashed(client.channel) + R"(")" + code + "}");
    };
    CHECK(unregister(R"(,"code":201)").changes[0].code == 201);
    CHECK(unregister("").changes[0].code == std::nullopt);
}

TEST_CASE("a sent message takes a place of the window, and its end frees the place") {
    Client client{{.messages_min = 1, .messages_max = 1, .unacked = 2}};
    const auto first = new_key();
    const auto second = new_key();
    REQUIRE(client.gets(first));
    CHECK_FALSE(client.gets(second));  // it waits in the store
    CHECK_FALSE(client.session.wants_read(client.now));
    SECTION("an ack") {
        CHECK(client.ack(client.version_of(first)).acked ==
              std::vector<Effects::Answered>{{first}});
    }
    SECTION("its end elsewhere") { client.session.finished(first); }
    SECTION("a nack") { client.nack(first); }
    SECTION("a minute") { client.now += 60s; }
    CHECK(client.session.wants_read(client.now));
    client.session.cursor(100);
    CHECK(client.reads(second, 7));
    CHECK_FALSE(client.session.read_over(true));
    CHECK(client.session.live());
}

// Verified to fail when a nacked message stays in the window: it was full after `unacked` of them.
TEST_CASE("however many messages a client refuses, it gets the next one") {
    Client client{{.messages_min = 2, .messages_max = 2, .unacked = 4}};
    for (int i = 0; i < 50; ++i) {
        const auto key = new_key();
        REQUIRE(client.gets(key));
        CHECK(client.nack(key).nacked.size() == 1);
        CHECK(client.nack(key).nacked.empty());
    }
    CHECK(client.session.unacked() == 0);
}

TEST_CASE("a nacked message may be acknowledged later") {
    Client client;
    const auto key = new_key();
    REQUIRE(client.gets(key));
    client.nack(key);
    CHECK(client.ack(client.version_of(key)).acked == std::vector<Effects::Answered>{{key}});
}

TEST_CASE("a reading begins with the first message that was not sent on this session") {
    Client client{{.messages_min = 2, .messages_max = 2}};
    const auto first = new_key();
    REQUIRE(client.gets(first));
    REQUIRE(client.gets(new_key()));
    CHECK_FALSE(client.gets(new_key()));  // at 2
    CHECK_FALSE(client.gets(new_key()));
    client.nack(first);
    CHECK(client.session.cursor(4).from == 2);
    CHECK_FALSE(client.gets(new_key()));  // at 4, while that is read
    client.session.read_over(true);
    CHECK(client.session.cursor(5).from == 4);
    client.session.read_over(true);
    client.session.read_store();
    CHECK(client.session.cursor(5).from == 0);
}

TEST_CASE("a TTL-0 message takes no place and needs none") {
    Client client{{.messages_min = 1, .messages_max = 1}};
    REQUIRE(client.gets(new_key()));
    CHECK(client.gets(new_key(), 0));
    CHECK(client.session.live());
    CHECK(client.session.unacked() == 1);
}

TEST_CASE("a message that does not fit is read again once there is space") {
    Client client{{.messages_min = 1, .bytes = 300}};
    const auto first = new_key();
    const auto second = new_key();
    REQUIRE(client.gets(first));
    client.session.read_store();
    client.session.cursor(100);
    CHECK_FALSE(client.reads(first, 5));  // under way
    CHECK_FALSE(client.reads(second, 7));
    CHECK(client.session.read_over(true));
    CHECK_FALSE(client.session.live());
    CHECK(client.session.cursor(200).after == 6);
    client.ack(client.version_of(first));
    CHECK(client.reads(second, 7));
    CHECK_FALSE(client.session.read_over(true));
    CHECK(client.session.live());
}

TEST_CASE("too many acknowledged messages that the log does not know stop the flow") {
    Client client{{.messages_min = 10, .messages_max = 10, .acked_not_durable = 2}};
    const auto first = new_key();
    client.session.add_pending_tombstone(first);
    client.session.add_pending_tombstone(new_key());
    CHECK_FALSE(client.gets(new_key()));
    // Its tombstone was written, or read: both may be reported.
    client.session.durable(first);
    client.session.finished(first);
    CHECK(client.session.wants_read(client.now));
}

TEST_CASE(
    "an acknowledged message takes one place until its end is read or reported, however often") {
    using End = void (*)(Session&, const core::MessageKey&);
    constexpr End kReported = [](Session& session, const auto& key) { session.durable(key); };
    constexpr End kReadBack = [](Session& session, const auto& key) { session.finished(key); };
    const std::vector<std::vector<End>> ends{{kReported},
                                             {kReadBack},
                                             {kReported, kReadBack},
                                             {kReadBack, kReported},
                                             {kReported, kReported, kReadBack, kReadBack}};
    Client client{{.messages_min = 10, .messages_max = 10, .acked_not_durable = 2}};
    const auto is_full = [&] { return client.session.capacity(client.now) == 0; };
    client.session.add_pending_tombstone(new_key());  // for good
    for (const auto& end : ends) {
        const auto key = new_key();
        client.session.add_pending_tombstone(key);
        client.session.add_pending_tombstone(key);  // two acks of one message
        CHECK(is_full());
        for (const auto one : end) {
            one(client.session, key);
            CHECK_FALSE(is_full());
        }
    }
    client.session.add_pending_tombstone(new_key());
    CHECK(is_full());
}

TEST_CASE("the store is read when there is space for half a window, not for each ack") {
    Client client{{.messages_min = 10, .messages_max = 10}};
    std::vector<core::MessageKey> sent;
    for (int i = 0; i < 10; ++i) {
        sent.push_back(new_key());
        REQUIRE(client.gets(sent.back()));
    }
    CHECK_FALSE(client.gets(new_key()));  // it waits in the store
    for (int acks = 1; acks <= 10; ++acks) {
        client.ack(client.version_of(sent[static_cast<std::size_t>(acks - 1)]));
        CHECK(client.session.wants_read(client.now) == (acks >= 5));
    }
}

TEST_CASE("a window that has no space for half of it is filled once nothing is under way") {
    Client client{{.messages_min = 10, .messages_max = 10, .unacked = 3}};
    const std::vector sent{new_key(), new_key(), new_key()};
    for (const auto& key : sent) REQUIRE(client.gets(key));
    CHECK_FALSE(client.gets(new_key()));  // it waits in the store
    for (const auto& key : sent) {
        CHECK_FALSE(client.session.wants_read(client.now));
        client.ack(client.version_of(key));
    }
    CHECK(client.session.wants_read(client.now));
}

// A client that acknowledges in groups gets a burst of small messages in one go.
TEST_CASE("a window takes as many messages as fit into its bytes, within its two limits") {
    const auto sent_at_once = [](edge::WindowLimits limits) {
        Client client{limits};
        std::size_t sent = 0;
        while (client.gets(new_key())) ++sent;
        CHECK(client.session.unacked() == sent);
        return sent;
    };
    std::size_t frame = 0;
    {
        Client client;
        core::NotificationAccepted message;
        message.uaid = client.uaid;
        message.key = new_key();
        const auto version = client.version_of(message.key);
        message.message_id = version;
        message.channel = client.channel;
        message.ttl_s = 60;
        frame = client.session.on(message, 0, client.now).frames.at(0).text.size();
    }
    CHECK(sent_at_once({}) == std::min<std::size_t>(256, (64U << 10) / frame));
    CHECK(sent_at_once({.bytes = 20 * frame}) == 20);
    CHECK(sent_at_once({.bytes = 20 * frame + frame - 1}) == 20);
    CHECK(sent_at_once({.messages_max = 15, .bytes = 20 * frame}) == 15);
    CHECK(sent_at_once({.bytes = 3 * frame}) == 10);  // the least
    CHECK(sent_at_once({.messages_min = 2, .bytes = 3 * frame}) == 3);
    CHECK(sent_at_once({.bytes = 3 * frame, .bytes_max = 7 * frame}) == 7);
    CHECK(sent_at_once({.bytes = 0, .bytes_max = 0}) == 1);                  // alone
    CHECK(sent_at_once({.messages_max = 1'000, .bytes = 1U << 20}) == 512);  // unacked
}

TEST_CASE("in a window full of bytes a read waits for an eighth of them") {
    Client client{{.messages_max = 512}};
    std::vector<core::MessageKey> sent;
    for (auto key = new_key(); client.gets(key); key = new_key()) sent.push_back(key);
    REQUIRE(sent.size() > 100);
    std::size_t acks = 0;
    while (!client.session.wants_read(client.now)) {
        REQUIRE(acks < sent.size());
        client.ack(client.version_of(sent[acks++]));
    }
    CHECK(acks >= sent.size() / 8);
    CHECK(acks <= sent.size() / 8 + 2);
}

TEST_CASE("a client that never acknowledges gets a further window each minute, up to the most") {
    Client client{{.messages_min = 2, .messages_max = 4, .unacked = 9}};
    const auto sent_now = [&] {
        std::size_t sent = 0;
        while (client.gets(new_key())) ++sent;
        client.session.cursor(1'000);
        client.session.read_over(true);
        client.now += 60s;
        return sent;
    };
    CHECK(sent_now() == 4);
    CHECK(sent_now() == 4);
    CHECK(sent_now() == 1);
    CHECK(sent_now() == 0);
}

TEST_CASE("a session is found by its id, under both of its UAIDs") {
    Sessions sessions{{}};
    const edge::SessionId id{{"front"}, 0, 1};
    const core::Uaid uaid{core::random_uuid4()};
    const core::Uaid offered{core::random_uuid4()};
    auto& session = sessions.open(id, uaid, offered);
    CHECK(sessions.find(id, uaid) == &session);
    CHECK(sessions.find(id, offered) == &session);
    CHECK(sessions.find({{"front"}, 0, 2}, uaid) == nullptr);
    sessions.erase(uaid);
    CHECK(sessions.find(id, offered) == nullptr);
    CHECK(sessions.size() == 0);
}

TEST_CASE("the messages that were sent last are remembered, and no more") {
    Sessions sessions{{}};
    const core::Uaid uaid{core::random_uuid4()};
    std::vector<core::MessageKey> keys;
    for (std::size_t i = 0; i <= Sessions::kRememberedMax; ++i) {
        keys.push_back(core::new_message_key(core::Timestamp{std::chrono::milliseconds{i}}));
        sessions.remember(keys.back(), core::MonoTime{std::chrono::seconds{i}});
        sessions.remember(keys.back(), core::MonoTime{std::chrono::seconds{i}});
    }
    CHECK_FALSE(sessions.sent(uaid, keys.front()));
    CHECK(sessions.sent(uaid, keys[1])->at == core::MonoTime{1s});
    CHECK(sessions.sent(uaid, keys.back()));
}
