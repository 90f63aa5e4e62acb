#pragma once

#include "client/api_client.hpp"
#include "console/pages/attempt_poller.hpp"
#include "core/key_ring.hpp"
#include "core/result.hpp"

#include <memory>
#include <string>

namespace beckon::console {

/// The API of the role retry, which the console calls as the owner of a webhook, with a token that
/// it makes with the key ring. Blocks its caller. Any thread.
class RetryApi {
public:
    using Options = AttemptPoller::Options;

    RetryApi(Options options, std::shared_ptr<const core::KeyRing> keys);

    /// Calls one process after another until one answers, and until it is one that serves what the
    /// path names. Errors: invalid (no name of an owner), not_found (the console knows no process
    /// with the role), unavailable, timed_out.
    core::Result<client::ApiAnswer> ask(const std::string& owner,
                                        const client::ApiClient::Query& query) const;

private:
    const Options options_;
    const std::shared_ptr<const core::KeyRing> keys_;
};

}  // namespace beckon::console
