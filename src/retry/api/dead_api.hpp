#pragma once

#include "retry/api/api_request.hpp"
#include "retry/api/owner_token.hpp"
#include "retry/api/route.hpp"
#include "retry/role/retry_node.hpp"

#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace beckon::retry {

/// The API of dead letters (docs/webhooks.md#dead-letters), for the webhooks of the caller's owner,
/// or of all owners if the caller is an operator.
/// On the node's thread.
class DeadApi {
public:
    /// Redrives and drops under way: one of each caller, and of all together. Each holds up to
    /// 1,000 letters, which name their events or have small ones.
    static constexpr std::size_t kSettlingMax = 16;
    using Reply = ApiReply;

    explicit DeadApi(RetryNode& node) : node_(node) {}

    /// Replies exactly once: now, or when the log has answered.
    void handle(const ApiRequest& request, const Path& path, const Caller& caller,
                const Reply& reply);

private:
    void list(std::string_view target, const Caller& caller, const Reply& reply) const;
    void show(const std::string& id, const Caller& caller, const Reply& reply);
    void settle(std::string_view body, Settlement how, const Caller& caller, const Reply& reply);

    RetryNode& node_;
    /// The callers whose redrive or drop is under way; the answers of the log may outlive this.
    std::shared_ptr<std::set<std::string>> settling_ = std::make_shared<std::set<std::string>>();
};

}  // namespace beckon::retry
