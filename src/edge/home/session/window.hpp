#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "edge/edge_options.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace beckon::edge {

/// The messages that were sent on one session and are not acknowledged, and the acknowledged ones
/// that the log does not know yet.
class Window {
public:
    /// `limits` outlives the window.
    explicit Window(const WindowLimits& limits) : limits_(limits) {}

    /// The number of messages that may be sent now. Messages that were sent too long ago no longer
    /// count.
    std::size_t capacity(core::MonoTime now);
    /// Whether there is so much space that a read of the store is worth its cost.
    bool worth_a_read(core::MonoTime now);
    /// Whether a frame of that size may be sent now, as far as bytes are concerned.
    bool has_bytes_for(std::size_t frame_bytes) const;

    void sent(const core::MessageKey& key, std::string_view version, std::size_t frame_bytes,
              core::MonoTime now);
    bool contains(const core::MessageKey& key) const { return sent_at(key).has_value(); }
    /// When it was sent, if it is under way.
    std::optional<core::MonoTime> sent_at(const core::MessageKey& key) const;
    /// The messages under way that were sent first, at most `most`, and when.
    std::vector<std::pair<core::MessageKey, core::MonoTime>> oldest(std::size_t most) const;
    /// Removes the message of that version and returns it, if it is under way.
    std::optional<core::MessageKey> acked(std::string_view version);
    /// The send times of the messages that were acknowledged since the last call.
    std::vector<core::MonoTime> take_acked() { return std::exchange(acked_, {}); }
    /// Removes the message of that version and returns it, if it is under way. A client may refuse
    /// any number.
    std::optional<core::MessageKey> nacked(std::string_view version);
    /// It is finished (deleted, replaced, expired).
    void forget(const core::MessageKey& key);
    std::size_t unacked() const { return sent_.size(); }

    /// An acknowledged message whose tombstone is pending.
    void add_pending_tombstone(const core::MessageKey& key) { not_durable_.insert(key); }
    /// The log has its tombstone.
    void durable(const core::MessageKey& key) { not_durable_.erase(key); }

private:
    /// One message that was sent on this session and is not acknowledged. Clients that acknowledge
    /// nothing have hundreds of them: the version is kept as its hash.
    struct Sent {
        core::MessageKey key;
        std::size_t version = 0;
        core::MonoTime at{};
        std::uint32_t bytes = 0;
        bool counts = true;  ///< takes a place in the window
    };
    std::vector<Sent>::iterator find(std::string_view version);
    void free_place(Sent& message);
    /// Takes a message out of the list, and returns its key.
    core::MessageKey take(std::vector<Sent>::iterator at);
    void free_old(core::MonoTime now);
    std::size_t bytes_limit() const;

    const WindowLimits& limits_;
    std::vector<Sent> sent_;                          ///< at most WindowLimits::unacked
    std::size_t counted_ = 0;                         ///< of sent_
    std::size_t bytes_ = 0;                           ///< of those counted
    core::MonoTime check_at_{core::MonoTime::max()};  ///< no message becomes old before
    std::unordered_set<core::MessageKey> not_durable_;
    std::vector<core::MonoTime> acked_;
};

}  // namespace beckon::edge
