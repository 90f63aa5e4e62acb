#pragma once

#include "bench/load/stream.hpp"
#include "bench/load/wire.hpp"

#include <chrono>
#include <deque>
#include <string>
#include <string_view>

namespace beckon::bench {

class LoadSender;

/// The events of a sender. Called on the loop's thread.
class SenderEvents {
public:
    virtual void on_sender_ready(LoadSender& sender) = 0;
    virtual void on_reply(LoadSender& sender, std::uint32_t sequence, int status) = 0;
    /// The connection ended; the outcome of these messages is unknown.
    virtual void on_sender_end(LoadSender& sender, const std::deque<std::uint32_t>& unanswered) = 0;

protected:
    ~SenderEvents() = default;
};

/// The POST that is sent over and over: all but target and token is fixed.
struct PostPlan {
    Target server;
    std::string head;  ///< between target and body: version, headers, empty line
    std::string body;  ///< its first 8 bytes are overwritten by a token
    std::uint32_t run = 0;
};

/// A kept-alive HTTP connection that sends POSTs, several in flight if asked, answered in order.
class LoadSender final : public Stream {
public:
    LoadSender(Loop& loop, const PostPlan& plan, SenderEvents& events)
        : Stream(loop), plan_(plan), events_(events) {}

    void connect() { start(plan_.server); }
    /// Sends one message to `target` (the path of an endpoint): its reply or `on_sender_end`
    /// follows, the latter perhaps at once. False if the connection is not open.
    bool post(std::string_view target, std::uint32_t sequence);
    std::size_t in_flight() const { return in_flight_.size(); }
    /// Whether nothing was on its way at `now`, nor for `span` before.
    bool unused_for(std::chrono::nanoseconds span, Nanos now) const {
        return in_flight_.empty() && now - used_at_ > span.count();
    }

private:
    void on_open() override;
    std::size_t on_data(std::string_view data) override;
    void on_end() override;

    const PostPlan& plan_;
    SenderEvents& events_;
    std::deque<std::uint32_t> in_flight_;
    Nanos used_at_ = 0;  ///< when it opened, or had its last reply
};

}  // namespace beckon::bench
