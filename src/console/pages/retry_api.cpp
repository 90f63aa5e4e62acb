#include "console/pages/retry_api.hpp"

#include "retry/api/owner_token.hpp"
#include "retry/api/problem.hpp"

#include <chrono>
#include <utility>

namespace beckon::console {

namespace {

constexpr std::chrono::milliseconds kCallWithin{5'000};

/// The process has not got the webhook's partition; another one may have.
bool is_elsewhere(const client::ApiAnswer& answer) {
    constexpr int kServedElsewhere = 503;
    const std::string code{to_string(retry::Problem::served_elsewhere)};
    return answer.status == kServedElsewhere && answer.body.find(code) != std::string::npos;
}

}  // namespace

RetryApi::RetryApi(Options options, std::shared_ptr<const core::KeyRing> keys)
    : options_(std::move(options)), keys_(std::move(keys)) {}

core::Result<client::ApiAnswer> RetryApi::ask(const std::string& owner,
                                              const client::ApiClient::Query& query) const {
    const auto token =
        retry::make_token(keys_->keys().front(), {.owner = owner, .publishes_to_all = false});
    if (!token) return core::fail(token.error());
    core::Result<client::ApiAnswer> last =
        core::fail(core::Fault::not_found,
                   "the console knows no process with the role retry: name their APIs in "
                   "console.retry_urls");
    for (const auto& origin : options_.origins) {
        client::ApiClient api{{.origin = origin,
                               .token = *token,
                               .ca_file = {},
                               .insecure = options_.insecure,
                               .timeout = kCallWithin,
                               .patience = std::chrono::milliseconds{0}}};
        auto answer = api.ask(query);
        if (answer && !is_elsewhere(*answer)) return answer;
        // A process that answers says more than one that does not.
        if (answer || !last) last = std::move(answer);
    }
    return last;
}

}  // namespace beckon::console
