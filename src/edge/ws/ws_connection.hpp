#pragma once

#include "core/clock.hpp"
#include "core/largest_holder.hpp"
#include "edge/front/sockets.hpp"
#include "edge/loop/timing_wheel.hpp"
#include "net/peer_address.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

struct lws;

namespace beckon::edge {

/// Notices that connections end again and again at the same age, which no client does by itself: a
/// proxy or a firewall ends them (nginx after 60 s without a byte). One thread.
class CutWatch {
public:
    /// If kSame of the last kSamples lost connections had the same age within a second, a timer has
    /// cut them.
    static constexpr std::size_t kSamples = 40;
    static constexpr std::size_t kSame = 30;
    /// Younger ones end for many reasons.
    static constexpr core::Duration kYoungest = std::chrono::seconds{5};
    static constexpr core::Duration kLogAgain = std::chrono::hours{1};

    /// A connection was lost at this age. The age in question if it is time for a warning.
    std::optional<std::chrono::seconds> lost(core::Duration age, core::MonoTime now) {
        ages_[next_++ % kSamples] = age;
        if (next_ < kSamples || age < kYoungest || (logged_ && now - *logged_ < kLogAgain))
            return {};
        const auto same = std::count_if(ages_.begin(), ages_.end(), [&](core::Duration other) {
            return std::chrono::abs(other - age) <= std::chrono::seconds{1};
        });
        if (same < static_cast<std::ptrdiff_t>(kSame)) return {};
        logged_ = now;
        return std::chrono::round<std::chrono::seconds>(age);
    }

private:
    std::array<core::Duration, kSamples> ages_{};
    std::size_t next_ = 0;
    std::optional<core::MonoTime> logged_;
};

struct Connection;

/// The memory that the connections of a shard hold: frames that are not sent yet, and pieces of
/// messages that are not complete. Where it is more than the bound, the connection with the most is
/// to end, among those of the address that holds the most: nobody ends a client of an address that
/// holds less than its own. One thread.
class HeldMemory {
public:
    explicit HeldMemory(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    void add(const net::PeerAddress& address, Connection& connection, std::size_t bytes) {
        addresses_.add(address, bytes);
        by_address_[address].add(&connection, bytes);
    }
    void remove(const net::PeerAddress& address, Connection& connection, std::size_t bytes) {
        addresses_.remove(address, bytes);
        const auto at = by_address_.find(address);
        at->second.remove(&connection, bytes);
        if (at->second.total() == 0) by_address_.erase(at);
    }
    /// Null: all connections together are within the bound.
    Connection* excess() const {
        if (addresses_.total() <= bytes_max_) return nullptr;
        return by_address_.at(addresses_.largest()).largest();
    }
    std::size_t total() const { return addresses_.total(); }

private:
    const std::size_t bytes_max_;
    core::LargestHolder<net::PeerAddress> addresses_;
    std::map<net::PeerAddress, core::LargestHolder<Connection*>> by_address_;
};

/// The frames that wait to be written to one client. Idle it owns no memory, and one frame at a
/// time costs no allocation of its own.
class SendQueue {
public:
    /// The memory that a waiting frame takes, which for a small one is much more than its bytes.
    static std::size_t cost(const std::string& frame) {
        constexpr std::size_t kInPlace = 15;  // bytes that a std::string keeps in itself
        const std::size_t heap = frame.size() > kInPlace ? frame.capacity() + 16 : 0;
        return sizeof(std::string) + heap;
    }

    bool empty() const { return bytes_ == 0; }
    /// Memory of all frames that wait.
    std::size_t bytes() const { return bytes_; }
    /// Frames are never empty.
    void push(std::string frame) {
        bytes_ += cost(frame);
        if (first_.empty()) {
            first_ = std::move(frame);
            return;
        }
        if (!more_) more_ = std::make_unique<std::deque<std::string>>();
        more_->push_back(std::move(frame));
    }
    std::string pop() {
        bytes_ -= cost(first_);
        std::string frame = std::move(first_);
        first_ = {};
        if (more_) {
            first_ = std::move(more_->front());
            more_->pop_front();
            if (more_->empty()) more_.reset();
        }
        return frame;
    }
    void clear() { *this = SendQueue{}; }

private:
    std::string first_;
    std::unique_ptr<std::deque<std::string>> more_;  ///< never empty
    std::size_t bytes_ = 0;
};

/// How many frames a client may send: a bucket for ten seconds, refilled evenly, and one frame for
/// each notification that it was sent. A frame counts once for each KiB that it has begun, since an
/// ack costs what its updates cost.
class FrameAllowance {
public:
    static constexpr std::chrono::seconds kSpan{10};
    static constexpr std::size_t kFrameBytes = 1'024;
    /// Notifications that a client need not answer at once: twice those that it may have under way
    /// by default.
    static constexpr std::uint32_t kAnswersMax = 1'024;

    /// As how many a frame of that size counts.
    static constexpr std::size_t count_of(std::size_t frame_bytes) {
        return 1 + frame_bytes / kFrameBytes;
    }

    /// Something came that counts as so many frames. False: it is too much.
    bool allow(std::size_t per_second, std::size_t count, core::MonoTime now) {
        const auto most = static_cast<float>(per_second * kSpan.count());
        // One frame is always within what a client that was quiet may send.
        const auto answers = std::min<std::size_t>(answers_, count);
        const auto cost = std::min(most, static_cast<float>(count - answers));
        if (!started_) {
            started_ = true;
            left_ = most;
        } else {
            const std::chrono::duration<float> passed = now - at_;
            left_ = std::min(most, left_ + passed.count() * static_cast<float>(per_second));
        }
        at_ = now;
        if (left_ < cost) return false;
        left_ -= cost;
        answers_ -= static_cast<std::uint32_t>(answers);
        return true;
    }
    /// Whether the last allow() left space for another frame.
    bool allows_more() const { return answers_ > 0 || left_ >= 1; }
    /// A notification went out, which the client is to answer. However many of them it answers at
    /// once, that is not too much.
    void await_answer() { answers_ = std::min(answers_ + 1, kAnswersMax); }

private:
    core::MonoTime at_{};
    float left_ = 0;
    std::uint32_t answers_ = 0;
    bool started_ = false;
};

/// The frames that the reads of a connection count as: a whole message may come in kFree reads;
/// each further one counts as a frame, as do those that bring pings, pongs, and pieces of a
/// message.
class ReadCount {
public:
    static constexpr std::size_t kFree = 2;

    /// Something is to be read: as how many frames that counts.
    std::size_t read() {
        if (free_ < kFree) {
            ++free_;
            return 0;
        }
        ++counted_;
        return 1;
    }
    /// A message is whole that counts as so many frames. The rest of them, still to be counted.
    std::size_t whole(std::size_t count) {
        const std::size_t left = count > counted_ ? count - counted_ : 0;
        *this = {};
        return left;
    }

private:
    std::uint32_t free_ = 0;
    std::uint32_t counted_ = 0;
};

struct Connection;
struct Handshake;
class ReadWatch;

/// The pieces of a message that is not complete, and when it must be.
struct HalfFrame : WheelTimer {
    HalfFrame(Connection& c, Fire fire) : WheelTimer(fire), connection(c) {}
    Connection& connection;
    std::string text;
};

/// One socket from accept to its end. Owned by its lws connection: made before it is adopted,
/// destroyed in LWS_CALLBACK_WSI_DESTROY.
struct Connection final : Client, WheelTimer {
    enum class Mode : std::uint8_t {
        handshake,     ///< TLS, HTTP
        open,          ///< the front's
        closing,       ///< our close frame waits behind the frames
        close_sent,    ///< it is written; the peer has a moment to end
        peer_closing,  ///< lws answers the client's close frame, or closes for a reason of its own
        dropping,      ///< killed at the timer, which is due
    };

    Connection(void* s, const net::Peer& p, Fire fire);
    ~Connection();

    void* server;  ///< WsServer::Impl
    struct lws* wsi = nullptr;
    core::MonoTime opened{};
    net::Peer peer;
    Mode mode = Mode::handshake;
    ClosedBy why = ClosedBy::lost;
    CloseCode close_code = CloseCode::internal;
    bool socket_counted = true;   ///< against the limit of sockets
    bool client_counted = false;  ///< against the limit of clients
    bool ping_due = false;
    bool established = false;
    bool half_close_due = false;
    std::string close_reason;
    bool head_passed = false;  ///< lws may read
    bool deferred = false;     ///< lws may not read until its turn; at `turn` of that list
    bool has_more = false;     ///< the last read left bytes in the socket; at `turn` of that list
    std::list<Connection*>::iterator turn{};
    std::size_t read_bytes = 0;            ///< of the messages that the last read made whole
    std::unique_ptr<Handshake> handshake;  ///< until lws has upgraded; null: not judged yet
    std::size_t discarded = 0;             ///< bytes that came behind a request that was answered
    std::unique_ptr<ReadWatch> reads;
    std::unique_ptr<HalfFrame> half;  ///< a message of which more pieces come
    SendQueue out;
    std::size_t unsent = 0;  ///< bytes of the last frame, which lws has not sent whole
    std::size_t held = 0;    ///< as HeldMemory counts
    ReadCount read_count;
    FrameAllowance frames;
    FrameAllowance prompt_frames;  ///< those that are served at once
};

}  // namespace beckon::edge
