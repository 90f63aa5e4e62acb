#include "edge/installation.hpp"
#include "records/broadcast.hpp"
#include "support/ws_client.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using test::Installation;
using test::WsClient;

// The client protocol through a whole edge: the frames of a client over its socket, and every byte
// that it receives. Frames that are not understood are in tests/edge/home/home_protocol_test.cpp,
// and so are answers of homes that cannot serve in tests/edge/home/home_test.cpp.
//
// The lines of a dialogue:
//
//   > TEXT          the client sends a text frame
//   < TEXT          it receives exactly this
//   | CODE REASON   the connection is over
//   + MESSAGE       a sender's message, one of kMessages, is in the log
//   x CODE REASON   the client closes the connection
//   ~               the client goes without a word, and connects again
//
// A name in angle brackets (`<uaid>`) stands for the text that it met first. `c1` … are channels.

namespace {

using Names = std::map<std::string, std::string, std::less<>>;

const core::NotificationAccepted& message(std::string_view name) {
    static const auto kMessages = [] {
        std::map<std::string_view, core::NotificationAccepted> all;
        all["aes128gcm"] = {.ttl_s = 3600, .encoding = "aes128gcm", .body = "\xff\xfe?"};
        all["aes128gcm with keys"] = {.ttl_s = 3600,
                                      .encoding = "aes128gcm",
                                      .encryption = "salt=abc",
                                      .crypto_key = "p256ecdsa=def",
                                      .body = "b"};
        all["aesgcm"] = {.ttl_s = 3600,
                         .encoding = "aesgcm",
                         .encryption = "salt=abc",
                         .crypto_key = "dh=def",
                         .body = "b"};
        all["aesgcm without a key"] = {
            .ttl_s = 3600, .encoding = "aesgcm", .encryption = "salt=abc", .body = "b"};
        all["empty"] = {.ttl_s = 3600, .encoding = "aes128gcm", .encryption = "salt=abc"};
        all["tracked"] = {
            .ttl_s = 3600, .encoding = "aes128gcm", .reliability_id = "r1", .body = "b"};
        all["for now"] = {.ttl_s = 0, .encoding = "aes128gcm", .body = "b"};
        all["of a Topic"] = {.ttl_s = 3600, .topic = "t", .encoding = "aes128gcm", .body = "old"};
        all["newer of the Topic"] = {
            .ttl_s = 3600, .topic = "t", .encoding = "aes128gcm", .body = "new"};
        return all;
    }();
    return kMessages.at(name);
}

/// Whether `text` matches `pattern`. A name that is not in `names` yet is added with its text.
bool matches(std::string_view pattern, std::string_view text, Names& names) {
    while (!pattern.empty()) {
        if (pattern.front() != '<') {
            if (text.empty() || text.front() != pattern.front()) return false;
            pattern.remove_prefix(1);
            text.remove_prefix(1);
            continue;
        }
        const std::string name{pattern.substr(1, pattern.find('>') - 1)};
        pattern.remove_prefix(name.size() + 2);
        const auto value = text.substr(0, text.find('"'));
        text.remove_prefix(value.size());
        const auto& known = names.try_emplace(name, value).first->second;
        if (value.empty() || known != value) return false;
    }
    return text.empty();
}

std::string with_names(std::string_view text, const Names& names) {
    std::string out{text};
    for (const auto& [name, value] : names) {
        for (auto at = out.find("<" + name + ">"); at != std::string::npos;
             at = out.find("<" + name + ">")) {
            out.replace(at, name.size() + 2, value);
        }
    }
    return out;
}

/// With the ids of channels written out.
std::string with_channels(std::string text) {
    for (const char* name : {"c1", "c2", "c3"}) {
        const std::string quoted = '"' + std::string{name} + '"';
        const std::string id =
            "\"1111111" + std::string{name + 1} + "-2222-4333-8444-555555555555\"";
        for (auto at = text.find(quoted); at != std::string::npos; at = text.find(quoted)) {
            text.replace(at, quoted.size(), id);
        }
    }
    return text;
}

class Dialogue {
public:
    Dialogue(Installation& here, std::uint16_t port) : here_(here), port_(port) { connect(); }

    void line(std::string_view line) {
        CAPTURE(line);
        const auto text =
            with_channels(std::string{line.substr(std::min<std::size_t>(2, line.size()))});
        switch (line.front()) {
            case '>': return client_->text(with_names(text, names_));
            case '<': return receives(text);
            case '|': return is_closed(text);
            case '+': static_cast<void>(here_.send(names_.at("url"), message(text))); return;
            case 'x': return closes(text);
            case '~': return connect();
            default: FAIL("no such line");
        }
    }
    const Names& names() const { return names_; }

private:
    void connect() {
        client_ = std::make_unique<WsClient>(port_);
        REQUIRE(client_->upgrade());
    }
    void receives(const std::string& expected) {
        const auto event = client_->next_message();
        REQUIRE(event.is_text());
        if (matches(expected, event.payload, names_)) return;
        CHECK(event.payload == with_names(expected, names_));
    }
    void closes(const std::string& how) {
        const auto code = static_cast<unsigned>(std::stoul(how));
        client_->close(code, how.substr(how.find(' ') + 1));
    }
    void is_closed(const std::string& expected) {
        const auto event = client_->next_message();
        REQUIRE(event.is_close());
        CHECK(std::to_string(event.code()) + " " + event.reason() == expected);
    }

    Installation& here_;
    const std::uint16_t port_;
    std::unique_ptr<WsClient> client_;
    Names names_;
};

struct Row {
    std::string_view what;
    std::vector<std::string_view> dialogue;
};

constexpr auto kHello = R"(> {"messageType":"hello","use_webpush":true})";
constexpr auto kHelloKnown = R"(> {"messageType":"hello","uaid":"<uaid>"})";
constexpr auto kUnknown = "0123456789abcdef0123456789abcdef";
constexpr auto kAnswer =
    R"(< {"messageType":"hello","uaid":"<uaid>","status":200,"use_webpush":true,"broadcasts":{}})";
constexpr auto kRegister = R"(> {"messageType":"register","channelID":"c1"})";
constexpr auto kRegistered =
    R"(< {"messageType":"register","channelID":"c1","status":200,"pushEndpoint":"<url>"})";
// An unexpected frame would come before this answer.
constexpr auto kAsk = "> {}";
constexpr auto kNothingElse = "< {}";

/// The beginning of each dialogue, and the end of those whose connection is not closed.
const std::vector<std::string_view> kSubscribed = {kHello, kAnswer, kRegister, kRegistered};

std::vector<Row> hellos() {
    return {
        {"a new client", {kHello, kAnswer, kAsk, kNothingElse}},
        {"a known client keeps its UAID",
         {kHello, kAnswer, kRegister, kRegistered, "~", kHelloKnown, kAnswer, kAsk, kNothingElse}},
        {"an unknown UAID gets another one",
         {R"(> {"messageType":"hello","uaid":"0123456789abcdef0123456789abcdef"})", kAnswer, kAsk,
          kNothingElse}},
        {"a client without a channel is not remembered",
         {kHello, kAnswer, "~", kHelloKnown,
          R"(< {"messageType":"hello","uaid":"<other>","status":200,"use_webpush":true,"broadcasts":{}})",
          kAsk, kNothingElse}},
        {"broadcasts that it has",
         {R"(> {"messageType":"hello","broadcasts":{"a":"1","b":"2"}})", kAnswer, kAsk,
          kNothingElse}},
        {"broadcasts of other versions, and unknown ones",
         {R"(> {"messageType":"hello","broadcasts":{"a":"0","b":"2","x":"1"}})",
          R"(< {"messageType":"hello","uaid":"<uaid>","status":200,"use_webpush":true,"broadcasts":{"a":"1","errors":{"x":"Broadcast not found"}}})",
          kAsk, kNothingElse}},
        {"a second hello", {kHello, kAnswer, kHello, "| 1011 SM"}},
        {"no hello first", {kAsk, "| 1011 SM"}},
        {"no JSON first", {"> hello", "| 1011 Json"}},
        {"the client closes", {kHello, kAnswer, "x 1000 bye", "| 1000 bye"}},
        {"the client closes with a code of its own", {kHello, kAnswer, "x 4774 ", "| 4774 "}},
    };
}

std::vector<Row> requests() {
    return {
        {"register again", {kRegister, kRegistered}},
        {"register with a key is another endpoint",
         {R"(> {"messageType":"register","channelID":"c1","key":"AAECAw=="})",
          R"(< {"messageType":"register","channelID":"c1","status":200,"pushEndpoint":"<bound>"})"}},
        {"a key that is no base64url",
         {R"(> {"messageType":"register","channelID":"c2","key":"a+b/"})",
          R"(< {"messageType":"register","channelID":"c2","status":400,"pushEndpoint":"Failed to generate endpoint"})"}},
        {"one channel too many",
         {R"(> {"messageType":"register","channelID":"c2"})",
          R"(< {"messageType":"register","channelID":"c2","status":200,"pushEndpoint":"<second>"})",
          R"(> {"messageType":"register","channelID":"c3"})",
          R"(< {"messageType":"register","channelID":"c3","status":409,"pushEndpoint":"Too many channels"})"}},
        {"unregister, twice",
         {R"(> {"messageType":"unregister","channelID":"c1","code":201})",
          R"(< {"messageType":"unregister","channelID":"c1","status":200})",
          R"(> {"messageType":"unregister","channelID":"c1"})",
          R"(< {"messageType":"unregister","channelID":"c1","status":200})"}},
        {"ping, in words", {R"(> {"messageType":"ping"})", "< {}"}},
        {"broadcast_subscribe",
         {R"(> {"messageType":"broadcast_subscribe","broadcasts":{"a":"0","x":"1"}})",
          R"(< {"messageType":"broadcast","broadcasts":{"a":"1","errors":{"x":"Broadcast not found"}}})",
          R"(> {"messageType":"broadcast_subscribe","broadcasts":{"a":"1"}})"}},
        {"a bad channel", {R"(> {"messageType":"register","channelID":"x"})", "| 1011 SM"}},
        {"nothing of the protocol", {R"(> {"messageType":"reset"})", "| 1011 Json"}},
    };
}

std::vector<Row> notifications() {
    return {
        {"aes128gcm",
         {"+ aes128gcm",
          R"(< {"messageType":"notification","channelID":"c1","version":"<v1>","data":"__4_","headers":{"encoding":"aes128gcm"}})"}},
        {"aes128gcm with headers of the draft",
         {"+ aes128gcm with keys",
          R"(< {"messageType":"notification","channelID":"c1","version":"<v1>","data":"Yg","headers":{"encoding":"aes128gcm","encryption":"salt=abc","crypto_key":"p256ecdsa=def"}})"}},
        {"aesgcm",
         {"+ aesgcm",
          R"(< {"messageType":"notification","channelID":"c1","version":"<v1>","data":"Yg","headers":{"encoding":"aesgcm","encryption":"salt=abc","crypto_key":"dh=def"}})"}},
        {"aesgcm without a key",
         {"+ aesgcm without a key",
          R"(< {"messageType":"notification","channelID":"c1","version":"<v1>","data":"Yg","headers":{"encoding":"aesgcm","encryption":"salt=abc"}})"}},
        {"without a body",
         {"+ empty", R"(< {"messageType":"notification","channelID":"c1","version":"<v1>"})"}},
        {"tracked, and come again from the store",
         {"+ tracked",
          R"(< {"messageType":"notification","channelID":"c1","version":"<v1>","data":"Yg","headers":{"encoding":"aes128gcm"},"reliability_id":"r1"})",
          "~", kHelloKnown, kAnswer,
          R"(< {"messageType":"notification","channelID":"c1","version":"<v1>","data":"Yg","headers":{"encoding":"aes128gcm"},"reliability_id":"r1","reliable_state":"retrieved"})"}},
        {"with TTL 0, which comes once",
         {"+ for now",
          R"(< {"messageType":"notification","channelID":"c1","version":"<v1>","data":"Yg","headers":{"encoding":"aes128gcm"}})",
          "~", kHelloKnown, kAnswer}},
        {"acknowledged, it does not come again",
         {"+ aes128gcm",
          R"(< {"messageType":"notification","channelID":"c1","version":"<v1>","data":"__4_","headers":{"encoding":"aes128gcm"}})",
          R"(> {"messageType":"ack","updates":[{"channelID":"c1","version":"<v1>","code":102}]})",
          kAsk, kNothingElse, "~", kHelloKnown, kAnswer}},
        {"refused, it comes at the next hello",
         {"+ aes128gcm",
          R"(< {"messageType":"notification","channelID":"c1","version":"<v1>","data":"__4_","headers":{"encoding":"aes128gcm"}})",
          R"(> {"messageType":"nack","version":"<v1>","code":301})", kAsk, kNothingElse, "~",
          kHelloKnown, kAnswer,
          R"(< {"messageType":"notification","channelID":"c1","version":"<v1>","data":"__4_","headers":{"encoding":"aes128gcm"}})"}},
        {"of two of a Topic the newer comes again",
         {"+ of a Topic",
          R"(< {"messageType":"notification","channelID":"c1","version":"<v1>","data":"b2xk","headers":{"encoding":"aes128gcm"}})",
          "+ newer of the Topic",
          R"(< {"messageType":"notification","channelID":"c1","version":"<v2>","data":"bmV3","headers":{"encoding":"aes128gcm"}})",
          "~", kHelloKnown, kAnswer,
          R"(< {"messageType":"notification","channelID":"c1","version":"<v2>","data":"bmV3","headers":{"encoding":"aes128gcm"}})"}},
    };
}

struct World {
    World() {
        for (const auto& [id, version] : {std::pair{"a", "1"}, {"b", "2"}}) {
            here.publish({log::Topic::kBroadcasts, 0},
                         edge::encode(edge::BroadcastSet{.id = id, .version = version}));
        }
        auto config = here.config();
        config.shards = 1;
        config.client_ping_interval_min = 0ms;
        config.channels_per_client_max = 2;
        edge = here.start(config);
        REQUIRE(here.executor.wait_until([this] {
            here.executor.post_after(10ms, [] {});  // looks again
            return here.metrics.text().find("beckon_edge_broadcasts 2\n") != std::string::npos;
        }));
    }
    void check(const Row& row, const std::vector<std::string_view>& before) {
        Dialogue dialogue{here, edge->port()};
        for (const auto line : before) dialogue.line(line);
        for (const auto line : row.dialogue) dialogue.line(line);
        if (row.dialogue.back().front() != '|') {
            dialogue.line(kAsk);
            dialogue.line(kNothingElse);
        }
        const auto& names = dialogue.names();
        for (const auto& [one, other] :
             {std::pair{"uaid", "other"}, {"url", "bound"}, {"v1", "v2"}}) {
            if (names.contains(other)) CHECK(names.at(one) != names.at(other));
        }
        if (names.contains("uaid")) CHECK(names.at("uaid") != kUnknown);
    }

    Installation here;
    std::unique_ptr<edge::Edge> edge;
};

}  // namespace

TEST_CASE("the frames of a client over its socket, and every byte that it receives",
          "[edge][protocol]") {
    World world;
    for (const auto& row : hellos()) {
        CAPTURE(row.what);
        world.check(row, {});
    }
    for (const auto& rows : {requests(), notifications()}) {
        for (const auto& row : rows) {
            CAPTURE(row.what);
            world.check(row, kSubscribed);
        }
    }
}
