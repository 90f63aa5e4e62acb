#include "console/pages/retry_api.hpp"

#include "console/web/answer.hpp"
#include "retry/api/owner_token.hpp"
#include "retry/api/problem.hpp"

#include <utility>

namespace beckon::console {

namespace {

constexpr std::chrono::milliseconds kCallWithin{5'000};

/// The process has not got the webhook's partition; another one may have.
bool is_elsewhere(const client::ApiAnswer& answer) {
    const std::string code{to_string(retry::Problem::served_elsewhere)};
    return answer.status == net::kUnavailable && answer.body.find(code) != std::string::npos;
}

core::Result<client::ApiAnswer> nobody_known() {
    return core::fail(core::Fault::not_found,
                      "the console knows no process with the role retry: name their APIs in "
                      "console.retry_urls");
}

}  // namespace

RetryApi::RetryApi(Options options, std::shared_ptr<const core::KeyRing> keys)
    : options_(std::move(options)), keys_(std::move(keys)) {}

core::Result<client::ApiAnswer> RetryApi::call(const std::string& origin,
                                               const retry::Caller& caller,
                                               const client::ApiClient::Query& query,
                                               std::chrono::milliseconds timeout) const {
    // The oldest key: a process may have started before the ring was rotated.
    const auto token = retry::make_token(keys_->keys().front(), caller);
    if (!token) return core::fail(token.error());
    client::ApiClient api{{.origin = origin,
                           .token = *token,
                           .insecure = options_.insecure,
                           .timeout = timeout,
                           .patience = {}}};
    return api.ask(query);
}

core::Result<client::ApiAnswer> RetryApi::ask(const std::string& owner,
                                              const client::ApiClient::Query& query) const {
    core::Result<client::ApiAnswer> last = nobody_known();
    for (const auto& origin : options_.origins) {
        auto answer = call(origin, {.owner = owner}, query, kCallWithin);
        if (answer && !is_elsewhere(*answer)) return answer;
        // A process that answers says more than one that does not.
        if (answer || !last) last = std::move(answer);
    }
    return last;
}

core::Result<client::ApiAnswer> RetryApi::ask_at(const std::string& origin,
                                                 const client::ApiClient::Query& query,
                                                 std::chrono::milliseconds timeout) const {
    return call(origin, retry::operator_caller(), query, timeout);
}

core::Result<client::ApiAnswer> RetryApi::ask_any(const client::ApiClient::Query& query,
                                                  std::chrono::milliseconds timeout) const {
    if (options_.origins.empty()) return nobody_known();
    std::string why;
    for (const auto& origin : options_.origins) {
        auto answer = ask_at(origin, query, timeout);
        if (answer && answer->status != net::kUnavailable) return answer;
        if (!answer && answer.error().fault == core::Fault::timed_out) return answer;
        if (!why.empty()) why += "; ";
        why += answer ? origin + ": the dead letters are still being read" : answer.error().message;
    }
    return core::fail(core::Fault::unavailable, why);
}

}  // namespace beckon::console
