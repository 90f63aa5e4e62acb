#include "tools/demo/demo.hpp"

#include "app/command/output.hpp"
#include "app/exit_codes.hpp"
#include "client/application_server.hpp"
#include "client/url.hpp"
#include "client/user_agent.hpp"
#include "core/json_text.hpp"

#include <array>
#include <cstdio>
#include <future>

namespace beckon::tools {

namespace {

using core::Fault;
using core::Result;
using std::chrono::steady_clock;

class Demo {
public:
    Demo(const DemoOptions& options, client::UserAgentOptions agent_options)
        : options_(options),
          agent_(std::move(agent_options)),
          sender_(sender_options()),
          steps_(options.json) {}

    int run();

private:
    struct Sent {
        Result<client::PushReply> reply;
        steady_clock::time_point start;
        steady_clock::time_point answered;
    };

    client::ApplicationServerOptions sender_options() {
        client::ApplicationServerOptions out;
        if (options_.vapid) out.vapid = key_;
        out.tls = {options_.insecure, options_.ca_file.value_or("")};
        out.timeout = options_.timeout;
        return out;
    }

    void step(const std::string& name, steady_clock::time_point from,
              const std::string& detail = "") {
        steps_.add(name, steady_clock::now() - from, detail);
    }

    Result<void> connect_and_hello(bool must_be_known);
    Result<void> subscribe();
    Result<void> push_while_connected();
    Result<void> push_while_away();
    Result<void> unsubscribe();
    Sent send(const std::string& text);
    Result<void> check_accepted(const Sent& sent);
    Result<void> receive(const std::string& text, const Sent& sent);
    Result<void> everything();

    const DemoOptions& options_;
    const client::P256Key key_ = client::P256Key::generate();
    client::UserAgent agent_;
    client::ApplicationServer sender_;
    std::optional<client::Channel> channel_;
    DemoSteps steps_;
};

Result<void> Demo::connect_and_hello(bool must_be_known) {
    auto start = steady_clock::now();
    if (auto done = agent_.connect(); !done) return done;
    step("connect", start, options_.url);
    start = steady_clock::now();
    const auto hello = agent_.hello();
    if (!hello) return core::fail(hello.error());
    step("hello", start, "uaid " + hello->uaid);
    if (must_be_known && !hello->kept) {
        return core::fail(Fault::conflict, "the server gave a new uaid: it has forgotten us");
    }
    return {};
}

Result<void> Demo::subscribe() {
    const auto start = steady_clock::now();
    auto channel =
        agent_.register_channel(options_.vapid ? std::optional{key_.public_point()} : std::nullopt);
    if (!channel) return core::fail(channel.error());
    step("register", start, channel->endpoint);
    channel_ = std::move(*channel);
    return {};
}

Demo::Sent Demo::send(const std::string& text) {
    const auto start = steady_clock::now();
    auto reply = sender_.send(channel_->subscription(), {.text = text, .ttl_s = 300});
    return {std::move(reply), start, steady_clock::now()};
}

Result<void> Demo::check_accepted(const Sent& sent) {
    if (!sent.reply) return core::fail(sent.reply.error());
    if (sent.reply->status != 201) {
        return core::fail(Fault::conflict, "the POST was answered " + client::explain(*sent.reply));
    }
    if (auto url = client::message_url(channel_->endpoint, *sent.reply); !url) {
        return core::fail(url.error());
    }
    steps_.add("POST to 201", sent.answered - sent.start, sent.reply->header("location"));
    return {};
}

/// The message of `sent` arrives unchanged, and is acknowledged.
Result<void> Demo::receive(const std::string& text, const Sent& sent) {
    const auto notification = agent_.next(options_.timeout);
    if (!notification) return core::fail(notification.error());
    if (!*notification) return core::fail(Fault::timed_out, "the message did not arrive");
    const auto& message = **notification;
    steps_.add("POST to frame", message.arrived - sent.start,
               std::to_string(message.body_bytes) + " bytes, encrypted");
    const auto decrypted = steady_clock::now();
    if (message.text != text) {
        return core::fail(Fault::corrupt, message.problem.empty()
                                              ? "another text arrived than was sent"
                                              : "cannot be read: " + message.problem);
    }
    steps_.add("decrypt", decrypted - message.arrived, '"' + text + '"');
    const auto start = steady_clock::now();
    if (auto acked = agent_.ack(message); !acked) return acked;
    // The answer to a ping comes after the ack was read.
    if (auto pong = agent_.ping(); !pong) return pong;
    step("ack", start);
    return {};
}

Result<void> Demo::push_while_connected() {
    // The sender has a thread of its own, so that the frame's time is true.
    auto sending = std::async(std::launch::async, [this] { return send(options_.text); });
    auto waited = agent_.wait(options_.timeout);
    const Sent sent = sending.get();
    if (auto accepted = check_accepted(sent); !accepted) return accepted;
    if (!waited) return waited;
    return receive(options_.text, sent);
}

Result<void> Demo::push_while_away() {
    agent_.close();
    const std::string text = options_.text + ", while you were away";
    const Sent sent = send(text);
    if (auto accepted = check_accepted(sent); !accepted) return accepted;
    if (auto back = connect_and_hello(true); !back) return back;
    return receive(text, sent);
}

Result<void> Demo::unsubscribe() {
    const auto start = steady_clock::now();
    if (auto gone = agent_.unregister(channel_->id); !gone) return gone;
    step("unregister", start);
    return {};
}

Result<void> Demo::everything() {
    steps_.title("A client subscribes");
    if (auto done = connect_and_hello(false); !done) return done;
    if (auto done = subscribe(); !done) return done;
    steps_.title("An application server sends");
    if (auto done = push_while_connected(); !done) return done;
    steps_.title("The client is away; a message waits for it");
    if (auto done = push_while_away(); !done) return done;
    steps_.title("The client goes");
    return unsubscribe();
}

int Demo::run() {
    const auto done = everything();
    agent_.close();
    return steps_.finish(done, "url", options_.url, "Everything arrived as it was sent.");
}

}  // namespace

int run_demo(const DemoOptions& options) {
    const auto url = client::parse_ws_url(options.url);
    if (!url) {
        app::print_error(url.error().message);
        return app::kWrongOptions;
    }
    client::UserAgentOptions agent;
    agent.url = *url;
    agent.socket.tls = {options.insecure, options.ca_file.value_or("")};
    agent.socket.connect_timeout = options.timeout;
    agent.reply_timeout = options.timeout;
    return Demo{options, std::move(agent)}.run();
}

void DemoSteps::title(const std::string& text) const {
    if (!json_) app::print_line("\n" + text);
}

void DemoSteps::add(const std::string& name, std::chrono::steady_clock::duration took,
                    const std::string& detail) {
    const auto ms = std::chrono::duration<double, std::milli>{took}.count();
    steps_.push_back({{"step", name}, {"ms", ms}});
    if (json_) return;
    std::array<char, 256> line{};
    std::snprintf(line.data(), line.size(), "  %-22s %9.2f ms  ", name.c_str(), ms);
    app::print_line(line.data() + detail);
}

int DemoSteps::finish(const core::Result<void>& done, const char* what, const std::string& where,
                      const char* good) const {
    if (json_) {
        nlohmann::json report{{"ok", done.has_value()}, {what, where}, {"steps", steps_}};
        if (!done) report["problem"] = app::with_remedy(done.error());
        app::print_line(core::json_text(report));
    } else if (done) {
        app::print_line(std::string{"\n"} + good);
    } else {
        app::print_error("\nThe demo failed: " + app::with_remedy(done.error()));
    }
    return done ? app::kDone : app::kFailed;
}

}  // namespace beckon::tools
