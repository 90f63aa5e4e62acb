#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "edge/home/part_context.hpp"
#include "edge/home/registration/registrations.hpp"
#include "store/edge_store.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace beckon::edge {

/// Removes clients with all their data (docs/design.md#removing-a-client): clients that were not
/// seen for `client_ttl`, which it searches in the store, a page at a time; and clients that
/// remove() or erase() names.
///
/// A read barrier comes first, so that no client is removed that was seen meanwhile. Then the home
/// publishes the tombstone of the client; once that is folded, it finishes the client's messages
/// and publishes tombstones for its channels (which the fold has made stale writes). The home
/// refuses a client that says hello in the middle, which then comes back a moment later. No state
/// of a removal is stored: after a crash or a take-over the next search finds the client again.
class Removals {
public:
    using Why = RemovalReason;

    /// Removals under way.
    static constexpr std::size_t kUnderWayMax = 256;
    /// Clients checked in one tick, removed ones included.
    static constexpr std::size_t kPage = 512;
    /// From the end of one search to the next.
    static constexpr core::Duration kSearchEvery = std::chrono::hours{1};

    Removals(const PartContext& context, Registrations& registrations)
        : context_(context), registrations_(registrations), lifetime_(context.executor) {}

    /// Serving begins, or ends.
    void begin();
    void stop();
    /// About once a second: goes on searching.
    void tick();
    /// Removes a client. Nothing happens if too many removals are under way: the next search, or
    /// the next count of the client's messages, calls this again.
    void remove(const core::Uaid& client, Why why) { start(client, {.why = why}); }
    /// Removes a client for an operator, and what a removal that was cut short has left of it.
    /// `done`: whether it and its messages are gone; false: too many removals are under way, one of
    /// this client too, or the log or the home failed. Called exactly once.
    void erase(const core::Uaid& client, std::function<void(bool)> done) {
        start(client, {.why = Why::erased, .done = std::move(done)});
    }

    /// True if the client is being removed: it may not attach.
    bool holds(const core::Uaid& client) const { return under_way_.contains(client); }

private:
    struct Removal {
        Why why = Why::absent;
        std::function<void(bool)> done = {};  ///< of erase()
    };

    void start(const core::Uaid& client, Removal removal);
    void over(const core::Uaid& client, bool removed);
    void purge(const core::Uaid& client);
    bool is_absent(const core::Uaid& client, const store::StoredClient& stored) const;
    void confirmed(const core::Uaid& client, const core::Result<void>& result);
    void folded(const core::Uaid& client, bool is_folded);

    const PartContext& context_;
    Registrations& registrations_;
    std::map<core::Uaid, Removal> under_way_;
    std::optional<core::Uaid> searched_;  ///< up to here
    core::MonoTime search_again_{};
    core::Lifetime lifetime_;  ///< renewed by stop()
};

}  // namespace beckon::edge
