#pragma once

#include "edge/admission.hpp"
#include "edge/sockets.hpp"
#include "edge/timing_wheel.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

struct lws;

namespace beckon::edge {

/// What waits to be written to one client. Idle it owns no memory, and one frame at a time costs
/// no allocation of its own.
class Outbox {
public:
    bool empty() const { return bytes_ == 0; }
    std::size_t bytes() const { return bytes_; }
    /// Frames are never empty.
    void push(std::string frame) {
        bytes_ += frame.size();
        if (first_.empty()) {
            first_ = std::move(frame);
            return;
        }
        if (!more_) more_ = std::make_unique<std::deque<std::string>>();
        more_->push_back(std::move(frame));
    }
    std::string pop() {
        std::string frame = std::move(first_);
        first_ = {};
        bytes_ -= frame.size();
        if (more_) {
            first_ = std::move(more_->front());
            more_->pop_front();
            if (more_->empty()) more_.reset();
        }
        return frame;
    }
    void clear() { *this = Outbox{}; }

private:
    std::string first_;
    std::unique_ptr<std::deque<std::string>> more_;  ///< never empty
    std::size_t bytes_ = 0;
};

/// One socket from accept to its end. Owned by its lws connection: made before it is adopted,
/// destroyed in LWS_CALLBACK_WSI_DESTROY.
struct Connection final : Client, WheelTimer {
    enum class Mode : std::uint8_t {
        handshake,     ///< TLS, HTTP
        open,          ///< the front's
        closing,       ///< our close frame waits behind the outbox
        close_sent,    ///< it is written; the peer has a moment to end
        peer_closing,  ///< lws answers the client's close frame, or closes for a reason of its own
        dropping,      ///< killed at the timer, which is due
    };

    Connection(void* s, PeerKey p, Fire fire) : WheelTimer(fire), server(s), peer(p) {}

    void* server;  ///< WsServer::Impl
    struct lws* wsi = nullptr;
    PeerKey peer;
    Mode mode = Mode::handshake;
    ClosedBy why = ClosedBy::lost;
    CloseCode close_code = CloseCode::internal;
    bool client_counted = false;  ///< against the limit of clients
    bool ping_due = false;
    bool established = false;
    bool half_close_due = false;
    std::string close_reason;
    std::string rx;  ///< pieces of a message that is not complete
    Outbox out;
};

}  // namespace beckon::edge
