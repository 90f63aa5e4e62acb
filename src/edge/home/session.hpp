#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "edge/messages.hpp"
#include "store/edge_store.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What a home holds of one attached client. Two types: a session is AwaitingHello until its UAID
/// is settled, then Identified; what is not allowed before has no function to call.
namespace beckon::edge {

/// How many messages may be under way to one client.
struct WindowLimits {
    std::size_t window = 10;        ///< `delivery_window`
    std::size_t unacked_max = 100;  ///< hard cap, those included that count no more
    /// Acknowledged, but the log does not have the tombstone yet.
    std::size_t acked_not_durable_max = 1'000;
    /// A message unacknowledged for so long gives its place free.
    core::Duration patience = std::chrono::minutes{1};
};

/// One message that was sent on this session and is not acknowledged.
struct Sent {
    core::MessageKey key;
    std::string version;
    core::MonoTime at{};
    bool counts = true;  ///< takes a place in the window
};

/// A client with its UAID.
class Identified {
public:
    Identified(SessionId session, core::Uaid client) : id(std::move(session)), uaid(client) {}

    const SessionId id;
    const core::Uaid uaid;

    /// Registers and unregisters without an answer.
    std::size_t changes_in_flight = 0;
    /// When `last_seen` is to be written next.
    core::MonoTime seen_due{};

    // --- delivery
    /// Where the drain stands; only while `draining`.
    store::DrainCursor cursor;
    bool draining = false;
    /// Something was folded for this client after the drain's `until` and was not sent.
    bool behind = false;
    std::size_t acked_not_durable = 0;

    /// Nothing waits in the store: what is folded next may be sent at once.
    bool live() const { return !draining && !behind; }
    /// How many messages may be sent now. Gives up counting those sent too long ago.
    std::size_t room(const WindowLimits& limits, core::MonoTime now);

    void sent(core::MessageKey key, std::string_view version, core::MonoTime now);
    bool was_sent(const core::MessageKey& key) const;
    /// The message of that version, if it is under way; it is no longer afterwards.
    std::optional<core::MessageKey> acked(std::string_view version);
    /// Gives its place free, but it is not sent again on this session.
    void nacked(std::string_view version);
    /// It is finished elsewhere (deleted, replaced, expired). True if it was under way.
    bool forget(const core::MessageKey& key);
    std::size_t unacked() const { return sent_.size(); }

private:
    std::vector<Sent> sent_;  ///< at most WindowLimits::unacked_max
};

/// A client whose hello has no answer yet: its home does not serve yet, or a mark is under way to
/// prove that its offered UAID is unknown (DESIGN §3).
class AwaitingHello {
public:
    /// A client has no reason to say more before it has its answer.
    static constexpr std::size_t kEarlyFramesMax = 16;

    /// The client's UAID, or what its front proposes for a client that has none.
    struct Wish {
        core::Uaid uaid;
        bool offered = false;
    };

    AwaitingHello(SessionId session, Wish w) : id(std::move(session)), wish(w) {}

    const SessionId id;
    const Wish wish;

    /// Keeps a frame for later; false: too many.
    bool keep(std::string text);
    std::vector<std::string> take_early() && { return std::move(early_); }

private:
    std::vector<std::string> early_;
};

}  // namespace beckon::edge
