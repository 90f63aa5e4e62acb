#include "client/user_agent.hpp"

#include "core/base64url.hpp"
#include "core/ids.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace beckon::client {

using core::Fault;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

using core::text_member;

/// As many versions as Firefox remembers of a subscription
/// (`dom.push.maxRecentMessageIDsPerSubscription`).
constexpr std::size_t kRecentVersionsMax = 100;

milliseconds left_until(steady_clock::time_point deadline) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    return std::max(left, milliseconds{0});
}

/// Decrypts into `notification.text`, or puts the reason of the failure into `problem`.
void decrypt_into(Notification& notification, const json& object, const Channel* channel) {
    const auto body = core::parse_base64url(text_member(object, "data"));
    const json headers = object.value("headers", json::object());
    const std::string name = text_member(headers, "encoding");
    const auto encoding = parse_encoding(name);
    if (!body) {
        notification.problem = "data is not base64url";
        return;
    }
    notification.body_bytes = body->size();
    if (!channel) {
        notification.problem = "unknown channel";
    } else if (!encoding) {
        notification.problem = "unknown encoding '" + name + "'";
    } else if (auto text =
                   decrypt(channel->keys, *encoding, *body, text_member(headers, "encryption"),
                           text_member(headers, "crypto_key"));
               text) {
        notification.text = std::move(*text);
    } else {
        notification.problem = text.error().message;
    }
}

}  // namespace

struct UserAgent::Message {
    json object;
    steady_clock::time_point arrived;
};

UserAgent::UserAgent(UserAgentOptions options, UserAgentState state)
    : options_(std::move(options)), state_(std::move(state)), socket_(options_.socket) {
    state_.url = options_.url.text();
}

Result<void> UserAgent::connect() {
    waiting_.clear();
    return socket_.connect(options_.url);
}

Result<void> UserAgent::save() {
    return options_.state_file ? save_state(*options_.state_file, state_) : Result<void>{};
}

Result<Hello> UserAgent::hello() {
    json request{{"messageType", "hello"}, {"use_webpush", true}, {"broadcasts", json::object()}};
    // As Firefox: a client without subscriptions does not send its UAID.
    const std::string offered = state_.channels.empty() ? "" : state_.uaid;
    if (!offered.empty()) request["uaid"] = offered;
    const auto reply = ask(request);
    if (!reply) return core::fail(reply.error());
    Hello hello{text_member(reply->object, "uaid"), false};
    if (hello.uaid.empty()) return core::fail(Fault::corrupt, "the hello reply has no uaid");
    hello.kept = hello.uaid == offered;
    if (!hello.kept) state_.channels.clear();
    state_.uaid = hello.uaid;
    if (auto saved = save(); !saved) return core::fail(saved.error());
    return hello;
}

Result<Channel> UserAgent::register_channel(const std::optional<std::string>& vapid_point) {
    Channel channel{core::to_dashed(core::random_uuid4()), "", ReceiverKeys::generate(), {}};
    json request{{"messageType", "register"}, {"channelID", channel.id}};
    if (vapid_point) request["key"] = core::base64url(*vapid_point);
    const auto reply = ask(request);
    if (!reply) return core::fail(reply.error());
    channel.endpoint = text_member(reply->object, "pushEndpoint");
    if (reply->object.value("status", 0) != 200) {
        return core::fail(Fault::conflict,
                          "register was answered " +
                              core::json_text(reply->object.value("status", json{})) + " '" +
                              channel.endpoint + "'");
    }
    if (auto url = parse_url(channel.endpoint); !url) {
        return core::fail(Fault::corrupt, "pushEndpoint: " + url.error().message);
    }
    state_.channels.insert_or_assign(channel.id, channel);
    if (auto saved = save(); !saved) return core::fail(saved.error());
    return channel;
}

Result<void> UserAgent::unregister(const std::string& channel_id) {
    const auto reply =
        ask({{"messageType", "unregister"}, {"channelID", channel_id}, {"code", 200}});
    if (!reply) return core::fail(reply.error());
    if (reply->object.value("status", 0) != 200) {
        return core::fail(Fault::conflict,
                          "unregister was refused: " + core::json_text(reply->object));
    }
    state_.channels.erase(channel_id);
    return save();
}

Result<void> UserAgent::ping() {
    const auto reply = ask(json::object());
    return reply ? Result<void>{} : core::fail(reply.error());
}

Result<void> UserAgent::ack(const Notification& notification) {
    const json update{{"channelID", notification.channel_id},
                      {"version", notification.version},
                      {"code", static_cast<int>(notification.ack_code())}};
    const json request{{"messageType", "ack"}, {"updates", json::array({update})}};
    // Saved before the ack: an acknowledged message does not come again.
    if (auto saved = save(); !saved) return saved;
    return socket_.send(core::json_text(request));
}

Result<void> UserAgent::wait(milliseconds timeout) {
    const auto deadline = steady_clock::now() + timeout;
    while (waiting_.empty()) {
        auto message = receive(left_until(deadline));
        if (!message) return core::fail(message.error());
        if (!*message) return {};
        keep(**message);
    }
    return {};
}

Result<std::optional<Notification>> UserAgent::next(milliseconds timeout) {
    if (auto waited = wait(timeout); !waited) return core::fail(waited.error());
    if (waiting_.empty()) return std::optional<Notification>{};
    Notification first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
}

Result<std::optional<UserAgent::Message>> UserAgent::receive(milliseconds timeout) {
    auto frame = socket_.receive(timeout);
    if (!frame) return core::fail(frame.error());
    if (!*frame) return std::optional<Message>{};
    json object = core::parse_json((*frame)->text);
    if (!object.is_object()) {
        return core::fail(Fault::corrupt, "the server sent something that is not a JSON object");
    }
    return Message{std::move(object), (*frame)->arrived};
}

/// The reply has the type of the request, and its channel, if that names one. Other frames that
/// come before it are kept.
Result<UserAgent::Message> UserAgent::ask(const json& request) {
    if (auto sent = socket_.send(core::json_text(request)); !sent) return core::fail(sent.error());
    const auto type = text_member(request, "messageType");
    const auto channel_id = text_member(request, "channelID");
    const auto deadline = steady_clock::now() + options_.reply_timeout;
    for (;;) {
        auto message = receive(left_until(deadline));
        if (!message) return core::fail(message.error());
        if (!*message) {
            return core::fail(Fault::timed_out, "no reply to " + (type.empty() ? "ping" : type));
        }
        const json& object = (*message)->object;
        if (text_member(object, "messageType") == type &&
            (channel_id.empty() || text_member(object, "channelID") == channel_id)) {
            return std::move(**message);
        }
        keep(**message);
    }
}

/// Notifications wait for `next`; broadcasts and unknown messages are dropped, as Firefox does.
void UserAgent::keep(const Message& message) {
    const json& object = message.object;
    if (text_member(object, "messageType") != "notification") return;
    Notification notification{.channel_id = text_member(object, "channelID"),
                              .version = text_member(object, "version"),
                              .text = std::nullopt,
                              .problem = {},
                              .arrived = message.arrived};
    const auto found = state_.channels.find(notification.channel_id);
    Channel* channel = found == state_.channels.end() ? nullptr : &found->second;
    if (object.contains("data")) decrypt_into(notification, object, channel);
    if (channel) {
        auto& recent = channel->recent;
        notification.duplicate = std::ranges::find(recent, notification.version) != recent.end();
        if (!notification.duplicate) recent.push_back(notification.version);
        if (recent.size() > kRecentVersionsMax) recent.pop_front();
    }
    waiting_.push_back(std::move(notification));
}

}  // namespace beckon::client
