#pragma once

#include "client/api_client.hpp"
#include "core/key_ring.hpp"
#include "core/result.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace beckon::retry {
struct Caller;
}

namespace beckon::console {

/// The API of the role `retry`, which the console calls as the owner of a webhook, or as an
/// operator, who sees the dead letters and attempts of all owners. It makes the tokens with the key
/// ring. Blocks its caller. Any thread.
class RetryApi {
public:
    struct Options {
        std::vector<std::string> origins;  ///< of each process; none: nothing can be asked
        bool insecure = false;  ///< accepts any certificate: the API is this process's own
    };
    RetryApi(Options options, std::shared_ptr<const core::KeyRing> keys);

    const std::vector<std::string>& origins() const { return options_.origins; }

    /// As an owner: calls one process after another until one answers that serves the webhook of
    /// the path. Errors: invalid (no name of an owner), not_found (the console knows no process
    /// with the role), unavailable, timed_out.
    core::Result<client::ApiAnswer> ask(const std::string& owner,
                                        const client::ApiClient::Query& query) const;

    /// As an operator: asks one process. Errors: those of ApiClient.
    core::Result<client::ApiAnswer> ask_at(const std::string& origin,
                                           const client::ApiClient::Query& query,
                                           std::chrono::milliseconds timeout) const;
    /// As an operator: asks one process after another until one takes the query. Processes that
    /// cannot be reached, or have not read their topics yet, are passed over. Errors: not_found
    /// (the console knows no process with the role), unavailable (none took it), timed_out (one
    /// took it, and has not answered).
    core::Result<client::ApiAnswer> ask_any(const client::ApiClient::Query& query,
                                            std::chrono::milliseconds timeout) const;

private:
    core::Result<client::ApiAnswer> call(const std::string& origin, const retry::Caller& caller,
                                         const client::ApiClient::Query& query,
                                         std::chrono::milliseconds timeout) const;

    const Options options_;
    const std::shared_ptr<const core::KeyRing> keys_;
};

}  // namespace beckon::console
