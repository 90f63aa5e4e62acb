#pragma once

#include "client/subscription.hpp"
#include "client/webpush_crypto.hpp"
#include "client/ws_socket.hpp"
#include "core/result.hpp"

#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace beckon::client {

/// A subscription as its user agent keeps it.
struct Channel {
    std::string id;  ///< dashed, lower case
    std::string endpoint;
    ReceiverKeys keys;
    std::deque<std::string> recent;  ///< versions received, to recognise duplicates

    Subscription subscription() const { return {endpoint, keys.subscription()}; }
};

/// The state that outlives a connection, kept in a JSON file.
struct UserAgentState {
    std::string url;                          ///< of the server that gave the uaid
    std::string uaid;                         ///< empty: none yet
    std::map<std::string, Channel> channels;  ///< by id
};

/// `invalid` names the file's fault; a file that does not exist is an empty state.
Result<UserAgentState> load_state(const std::filesystem::path& file);
Result<void> save_state(const std::filesystem::path& file, const UserAgentState& state);
/// The subscription of the first channel of a state, from the text of its file; nullopt if the text
/// is no state.
std::optional<Result<Subscription>> subscription_in_state(std::string_view text);

/// Codes of an ack (docs/protocol/client-protocol.md#ack-and-nack).
enum class AckCode { delivered = 100, decryption_error = 101 };

/// One push message as it came.
struct Notification {
    std::string channel_id;
    std::string version;
    std::optional<std::string> text;  ///< decrypted; absent: a message without data
    std::string problem;              ///< why there is no text although there was data; else empty
    std::size_t body_bytes = 0;
    bool duplicate = false;  ///< its version came before on this channel
    std::chrono::steady_clock::time_point arrived;

    AckCode ack_code() const {
        return problem.empty() ? AckCode::delivered : AckCode::decryption_error;
    }
};

struct Hello {
    std::string uaid;
    bool kept = false;  ///< the server knew the uaid that was offered
};

struct UserAgentOptions {
    Url url;  ///< ws or wss
    WsOptions socket = {};
    std::chrono::milliseconds reply_timeout{10'000};
    std::optional<std::filesystem::path> state_file = std::nullopt;  ///< written at every change
};

/// A push client: says hello, has channels, receives. Calls wait for the server's reply; while
/// they do, notifications pile up and `next` hands them out afterwards. One thread at a time.
///
/// Replies that do not come in time are `timed_out`, an ended connection `unavailable`, an answer
/// with a status other than 200 `conflict`, one that breaks the protocol `corrupt`.
class UserAgent {
public:
    explicit UserAgent(UserAgentOptions options, UserAgentState state = {});

    /// A second call connects anew.
    Result<void> connect();
    /// Offers the uaid of the state if there are channels. If the server gives another one, all
    /// channels are gone: it no longer knows us.
    Result<Hello> hello();
    /// `vapid_point`: the application server's key, raw, that alone may send; none: every
    /// application server.
    Result<Channel> register_channel(const std::optional<std::string>& vapid_point = std::nullopt);
    Result<void> unregister(const std::string& channel_id);
    /// The application-level ping `{}`.
    Result<void> ping();

    /// Reads until a notification is there for `next`, or the time is over.
    Result<void> wait(std::chrono::milliseconds timeout);
    /// The next notification, decrypted; nullopt if none came in time.
    Result<std::optional<Notification>> next(std::chrono::milliseconds timeout);
    Result<void> ack(const Notification& notification);

    const UserAgentState& state() const { return state_; }
    bool open() const { return socket_.open(); }
    void close() { socket_.close(); }
    /// From any thread: a call that waits returns soon.
    void interrupt() { socket_.interrupt(); }

private:
    struct Message;

    Result<Message> ask(const nlohmann::json& request);
    Result<std::optional<Message>> receive(std::chrono::milliseconds timeout);
    void keep(const Message& message);
    Result<void> save();

    UserAgentOptions options_;
    UserAgentState state_;
    WsSocket socket_;
    std::deque<Notification> waiting_;
};

}  // namespace beckon::client
