#pragma once

#include "core/clock.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "core/token_buckets.hpp"
#include "retry/api/api.hpp"
#include "retry/api/owner_token.hpp"
#include "retry/api/posted_events.hpp"
#include "retry/api/problem.hpp"
#include "retry/event/event.hpp"
#include "retry/role/retry_node.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace beckon::retry {

/// The API of events (docs/webhooks.md#api): posts them, one or a batch, in the name of a
/// caller, and can wait for the first attempts at its webhooks. On the node's thread.
class EventApi {
public:
    using Reply = ApiReply;

    EventApi(const Api::Options& options, RetryNode& node, const core::Clock& clock);

    /// Replies exactly once: now, or when the log has answered.
    void post(const ApiRequest& request, const Caller& caller, const Reply& reply);

private:
    struct Batch;

    tl::expected<Event, Refusal> admit(const Caller& caller, core::Result<Event> event);
    void post_batch(std::vector<core::Result<Event>> events, const Caller& caller,
                    const Reply& reply);
    void post_part(const std::shared_ptr<Batch>& batch);
    void post_next(const std::shared_ptr<Batch>& batch);
    std::set<std::string> deliveries_of(const Event& event, const Caller& caller);
    void post_and_wait(const Event& event, const Caller& caller, std::chrono::seconds wait,
                       const Reply& reply);

    const Api::Options& options_;
    RetryNode& node_;
    const core::Clock& clock_;
    core::TokenBuckets<std::string> posted_;  ///< events that each owner may post
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
