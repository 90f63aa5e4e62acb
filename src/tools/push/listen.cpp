#include "tools/push/listen.hpp"

#include "app/command/output.hpp"
#include "app/exit_codes.hpp"
#include "client/url.hpp"
#include "client/user_agent.hpp"
#include "client/vapid.hpp"
#include "core/base64url.hpp"
#include "core/descriptors.hpp"
#include "core/json_text.hpp"
#include "core/pause.hpp"

#include <algorithm>
#include <random>
#include <stop_token>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

namespace beckon::tools {

namespace {

using core::Fault;
using core::Result;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstBackoff{500};
constexpr milliseconds kLongestBackoff{60'000};
/// After waiting for messages for so long, the client pings the server.
constexpr milliseconds kPingInterval{std::chrono::minutes{5}};

Result<std::optional<std::string>> vapid_point(const std::string& option) {
    if (option.empty()) return std::optional<std::string>{};
    if (auto point = core::parse_base64_any(option);
        point && point->size() == client::kPointBytes) {
        return point;
    }
    auto key = client::load_vapid_key(option, client::IfMissing::fail);
    if (!key) {
        return core::fail(Fault::invalid,
                          "--vapid takes a base64url public key of 65 bytes or a key file: " +
                              key.error().message);
    }
    return std::optional{key->public_point()};
}

/// Keeps a state file to one `listen` as long as it lives. The lock is on a file beside it, since
/// the state itself is replaced at every change.
class StateLock {
public:
    explicit StateLock(const std::filesystem::path& state)
        : file_(::open((state.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
          held_(!file_ || ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) {}

    /// Also where no lock file can be made: saving the state then reports the fault.
    bool held() const { return held_; }

private:
    const core::Descriptor file_;
    const bool held_;
};

/// The parts of one `listen`: everything but the waiting signal handler.
class Listener {
public:
    Listener(const ListenOptions& options, client::UserAgentOptions agent_options,
             client::UserAgentState state, std::optional<std::string> vapid)
        : options_(options),
          vapid_(std::move(vapid)),
          deadline_(options.timeout ? std::optional{steady_clock::now() + *options.timeout}
                                    : std::nullopt),
          agent_(std::move(agent_options), std::move(state)) {}

    int run();
    /// From the signals' thread.
    void stop();

private:
    Result<void> come_back();
    Result<client::Channel> subscribe();
    Result<void> listen();
    void show(const client::Notification& notification);
    void print(const std::string& text, const nlohmann::json& event);
    bool wait_before_retry();
    bool finished() const { return options_.count != 0 && received_ >= options_.count; }
    bool stopping() const { return stop_.stop_requested(); }
    bool out_of_time() const { return deadline_ && steady_clock::now() >= *deadline_; }
    int leave();

    const ListenOptions& options_;
    const std::optional<std::string> vapid_;
    const std::optional<steady_clock::time_point> deadline_;
    client::UserAgent agent_;
    std::uint64_t received_ = 0;
    milliseconds backoff_ = kFirstBackoff;
    std::string shown_endpoint_;

    std::stop_source stop_;
};

void Listener::stop() {
    stop_.request_stop();
    agent_.interrupt();
}

/// With --json every event is a line of its own; else the text goes to standard error, so that
/// standard output holds only the subscription and the messages.
void Listener::print(const std::string& text, const nlohmann::json& event) {
    if (options_.json) {
        app::print_line(core::json_text(event));
    } else {
        app::print_error(text);
    }
}

Result<client::Channel> Listener::subscribe() {
    const auto& channels = agent_.state().channels;
    return channels.empty() ? agent_.register_channel(vapid_) : channels.begin()->second;
}

/// Connects, says hello, has a channel, and shows its subscription if that is a new one.
Result<void> Listener::come_back() {
    const std::string before = agent_.state().uaid;
    const bool had_channel = !agent_.state().channels.empty();
    if (auto done = agent_.connect(); !done) return done;
    const auto hello = agent_.hello();
    if (!hello) return core::fail(hello.error());
    print("connected, uaid " + hello->uaid,
          {{"event", "connected"}, {"uaid", hello->uaid}, {"known", hello->kept}});
    if (had_channel && !hello->kept) {
        print("the server no longer knows uaid " + before + ": subscribing anew",
              {{"event", "reset"}, {"uaid", before}});
    }
    const auto channel = subscribe();
    if (!channel) return core::fail(channel.error());
    if (channel->endpoint != shown_endpoint_) {
        shown_endpoint_ = channel->endpoint;
        const std::string subscription = client::to_json(channel->subscription());
        if (options_.json) {
            print("", {{"event", "subscribed"},
                       {"channel", channel->id},
                       {"subscription", core::must_parse_json(subscription)}});
        } else {
            app::print_line(subscription);
        }
    }
    backoff_ = kFirstBackoff;
    return {};
}

void Listener::show(const client::Notification& notification) {
    nlohmann::json event{{"event", "message"},
                         {"channel", notification.channel_id},
                         {"version", notification.version},
                         {"bytes", notification.body_bytes},
                         {"duplicate", notification.duplicate}};
    std::string line;
    if (notification.text) {
        event["text"] = *notification.text;
        line = *notification.text;
    } else if (!notification.problem.empty()) {
        event["problem"] = notification.problem;
        line = "(cannot be read: " + notification.problem + ")";
    } else {
        line = "(no data)";
    }
    if (notification.duplicate) line = "(again) " + line;
    if (options_.json) {
        print("", event);
    } else {
        app::print_line(line);
    }
}

/// Until enough has come, time is up, a signal, or the connection ends (an error).
Result<void> Listener::listen() {
    while (!finished() && !out_of_time() && !stopping()) {
        milliseconds wait = kPingInterval;
        if (deadline_) {
            wait =
                std::min(wait, std::chrono::ceil<milliseconds>(*deadline_ - steady_clock::now()));
        }
        auto notification = agent_.next(wait);
        if (!notification) return core::fail(notification.error());
        if (!*notification) {
            if (stopping() || out_of_time()) continue;
            if (auto alive = agent_.ping(); !alive) return alive;
            continue;
        }
        show(**notification);
        if (!(*notification)->duplicate) ++received_;
        if (!options_.acknowledge) continue;
        if (auto acked = agent_.ack(**notification); !acked) return acked;
    }
    return {};
}

/// Full jitter, so that the clients of a restarted server do not all return at once.
bool Listener::wait_before_retry() {
    thread_local std::mt19937 random{std::random_device{}()};
    auto wait =
        milliseconds{std::uniform_int_distribution<milliseconds::rep>{1, backoff_.count()}(random)};
    if (deadline_) {
        wait = std::min(wait, std::chrono::ceil<milliseconds>(*deadline_ - steady_clock::now()));
    }
    backoff_ = std::min(backoff_ * 2, kLongestBackoff);
    return core::pause(stop_.get_token(), wait) && !out_of_time();
}

int Listener::leave() {
    if (options_.unsubscribe && agent_.open() && !stopping()) {
        for (const auto& [id, channel] : std::map{agent_.state().channels}) {
            if (auto done = agent_.unregister(id); !done) app::print_error(done.error().message);
        }
    }
    agent_.close();
    return finished() ? app::kDone : app::kFailed;
}

int Listener::run() {
    for (;;) {
        auto done = come_back();
        if (done) done = listen();
        if (done || stopping()) return leave();
        const auto why = app::with_remedy(done.error());
        print(why, {{"event", "disconnected"}, {"reason", why}});
        const bool final = done.error().fault == Fault::invalid;  // the next try would end so too
        if (final || !options_.reconnect || !wait_before_retry()) return leave();
    }
}

}  // namespace

int run_listen(const ListenOptions& options) {
    const auto url = client::parse_ws_url(options.url);
    if (!url) {
        app::print_error(url.error().message);
        return app::kWrongOptions;
    }
    auto vapid = vapid_point(options.vapid);
    if (!vapid) {
        app::print_error(vapid.error().message);
        return app::kWrongOptions;
    }
    client::UserAgentState state;
    std::optional<StateLock> lock;
    if (options.state_file) {
        lock.emplace(*options.state_file);
        if (!lock->held()) {
            app::print_error(
                options.state_file->string() +
                " is in use by another `listen`: the server closes the older connection "
                "of a client, so two would displace each other for ever. Use another "
                "file");
            return app::kWrongOptions;
        }
        auto loaded = client::load_state(*options.state_file);
        if (loaded && !loaded->url.empty() && loaded->url != url->text()) {
            loaded = core::fail(Fault::conflict, options.state_file->string() +
                                                     " belongs to the server " + loaded->url +
                                                     "; use another file for " + url->text());
        }
        if (!loaded) {
            app::print_error(loaded.error().message);
            return app::kWrongOptions;
        }
        state = std::move(*loaded);
    }
    client::UserAgentOptions agent_options;
    agent_options.url = *url;
    agent_options.socket.tls = {options.insecure, options.ca_file.value_or("")};
    agent_options.state_file = options.state_file;
    Listener listener{options, std::move(agent_options), std::move(state), std::move(*vapid)};
    const app::StopSignals signals{[&] { listener.stop(); }};
    const int code = listener.run();
    return code == app::kFailed && signals.exit_code() != 0 ? signals.exit_code() : code;
}

}  // namespace beckon::tools
