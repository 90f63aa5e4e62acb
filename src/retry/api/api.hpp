#pragma once

#include "core/clock.hpp"
#include "core/key_ring.hpp"
#include "retry/api/api_request.hpp"
#include "retry/attempt/address_guard.hpp"
#include "retry/role/retry_node.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace beckon::retry {

/// The HTTP API of the role (docs/webhooks.md#api): webhooks of the caller's owner, and events. On
/// the node's thread.
class Api {
public:
    static constexpr std::string_view kExtraPrefix = "ce-";

    struct Options {
        AddressGuard guard;
        std::size_t webhooks_per_owner_max = 1'000;
        MemoryLimits memory{};
        std::size_t events_per_owner_per_second = 0;  ///< 0: no limit
        /// The longest that a POST of an event may wait for first attempts, and a change of a
        /// webhook for earlier ones.
        std::chrono::seconds wait_max{24};
        /// Whether an operator has blocked the events of an owner; empty: none is.
        std::function<bool(const std::string& owner)> is_blocked = {};
        /// Called when a token names a key that the ring lacks.
        std::function<void()> key_missing = [] {};
    };
    using Reply = ApiReply;

    Api(Options options, RetryNode& node, const core::Clock& clock,
        std::shared_ptr<const core::KeyRing> keys);
    ~Api();

    /// Replies exactly once unless the Api ends first: now, or when the log has answered. An
    /// exception while it is served, now or later, ends this request alone, with 500.
    void handle(const ApiRequest& request, const Reply& reply);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
