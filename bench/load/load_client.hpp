#pragma once

#include "bench/load/stream.hpp"
#include "bench/load/wire.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::bench {

class LoadClient;

/// The events of a client. Called on the loop's thread.
class ClientEvents {
public:
    virtual void on_ready(LoadClient& client) = 0;
    /// A notification, before its ack leaves. nullopt: its data is not one of a generator.
    virtual void on_notification(LoadClient& client, std::optional<Token> token) = 0;
    /// The connection ended, or the server sent an answer that a healthy one does not send.
    virtual void on_client_end(LoadClient& client, std::string_view reason) = 0;

protected:
    ~ClientEvents() = default;
};

/// The behaviour of a run's clients; shared by all of them.
struct ClientPlan {
    Target server;
    std::string authority;  ///< for `Host`
    std::string target = "/";
    bool register_channel = true;
    std::string vapid_key;  ///< base64url, for `register`; empty: unrestricted
    bool acknowledge = true;
};

/// A cheap user agent: upgrade, hello, perhaps register, then an ack for every notification; the
/// acks of one read leave in one write. Keeps uaid and channel when its connection ends, so that it
/// can come back.
class LoadClient final : public Stream {
public:
    LoadClient(Loop& loop, const ClientPlan& plan, ClientEvents& events)
        : Stream(loop), plan_(plan), events_(events) {}

    void connect(std::optional<std::uint32_t> source = std::nullopt);
    /// Leaves as a crash would; not reported.
    void leave() { drop(); }

    bool ready() const { return stage_ == Stage::ready && open(); }
    const std::string& endpoint() const { return endpoint_; }
    /// When the last hello was sent.
    Nanos hello_sent() const { return hello_sent_; }

private:
    enum class Stage : std::uint8_t { upgrading, greeting, registering, ready };

    void on_open() override;
    std::size_t on_data(std::string_view data) override;
    void on_end() override;

    std::size_t finish_upgrade(std::string_view data);
    void on_text(std::string_view text);
    void on_hello(std::string_view text);
    void on_register(std::string_view text);
    void on_notification(std::string_view text);
    void send_frame(std::string_view text);
    void give_up(std::string_view reason);

    const ClientPlan& plan_;
    ClientEvents& events_;
    Stage stage_ = Stage::upgrading;
    Nanos hello_sent_ = 0;
    std::string uaid_;
    std::string channel_;
    std::string endpoint_;
};

}  // namespace beckon::bench
