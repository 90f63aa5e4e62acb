#pragma once

#include "bridge/message.hpp"
#include "core/clock.hpp"
#include "retry/attempt/bridge/bridge_verdict.hpp"
#include "retry/attempt/http_request.hpp"

#include <chrono>
#include <functional>

namespace beckon::retry {

/// For the complete answer of FCM, of its token server or of APNs, which answer within a second
/// when they are well; after it the attempt has failed, and the delivery goes to the next tier.
inline constexpr std::chrono::seconds kBridgeTimeout{10};

/// Is notified of a bridge's work, to measure it; on any thread.
class BridgeObserver {
public:
    virtual ~BridgeObserver() = default;
    virtual void attempted(core::RouterType bridge, BridgeOutcome outcome, core::Duration took) = 0;
    virtual void token_renewed(core::RouterType bridge, bool good) = 0;
};

/// One app that messages can be sent to, with its credentials. One thread.
class BridgeApp {
public:
    virtual ~BridgeApp() = default;

    struct Attempt {
        const bridge::BridgedMessage& message;  ///< for the call
        std::chrono::seconds left{};            ///< of its TTL
        core::Timestamp expires{};              ///< by the log's time
    };
    using Done = std::function<void(BridgeVerdict, core::Duration took)>;
    /// Makes one attempt; answers exactly once, perhaps at once.
    virtual void send(const Attempt& attempt, Done done) = 0;
};

/// The dependencies of an app. Clock, observer, and the target of `send` outlive it.
struct BridgeAppContext {
    const core::Clock& clock;
    SendRequest send;
    BridgeObserver& observer;
};

}  // namespace beckon::retry
