#pragma once

#include "core/executor.hpp"
#include "core/milestone.hpp"
#include "core/tokens.hpp"
#include "ingest/call/responder.hpp"
#include "ingest/send/send_message.hpp"
#include "ingest/vapid/vapid.hpp"
#include "log/event_log.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::ingest {

/// Puts messages into the log, and takes them back: POST to an endpoint, DELETE of a message. A 201
/// or 204 leaves when the log has reported. Part of a Service, on its thread.
class Sending {
public:
    explicit Sending(const ServiceParts& parts);

    void send(const CallPtr& call);
    void delete_message(const CallPtr& call);

private:
    Checked<Addressed> check_sender(const CallPtr& call);
    using Subscription = store::SubscriptionStore::Subscription;
    Checked<std::optional<Subscription>> subscription(const Addressed& to) const;
    Checked<void> may_verify(const Call& call) const;
    Checked<void> check_rules(const Addressed& to) const;
    void count_vapid();
    void send_if_confirmed(const CallPtr& call, const Addressed& to,
                           const core::Result<void>& confirmed);
    void refuse_gone(const CallPtr& call, const Addressed& to);
    void publish_gone(const Call& call, const Addressed& to);
    void check_and_publish(const CallPtr& call, const Addressed& to, const Subscription& client);
    void publish_message(const CallPtr& call, const Addressed& to, const Subscription& client);
    using FailureOf = Failure (*)(const core::Error&);
    /// A message whose milestones are reported; without an id it is not tracked.
    struct Tracked {
        std::string id;
        /// By the log's time, as far as its last report shows it; by the host's before the first.
        core::Timestamp expires{};
    };
    void publish(const CallPtr& call, log::TopicPartition where, core::Record record,
                 FailureOf failure_of, Tracked tracked, std::function<void()> published);
    void reached(const Tracked& message, core::Milestone milestone) const;
    HttpReply created(std::string_view message_id, std::uint32_t ttl_s) const;
    Checked<std::optional<core::ReceiptRef>> receipt_wish(const HttpRequest& request,
                                                          const Addressed& to) const;
    std::string reliability_id(const HttpRequest& request, const Addressed& to) const;

    ServiceShared& shared_;
    /// The log's clock minus the host's, at the last report.
    std::chrono::milliseconds log_ahead_{};
    Responder& responder_;
    core::Tokens& tokens_;
    log::Publisher& publisher_;
    core::Executor& executor_;
    VapidVerifier vapid_;
    /// Ids of events that were published lately, each in its slot: a sender that goes on does not
    /// fill the log.
    std::vector<std::string> published_gone_;
    std::size_t vapid_cached_ = 0;  ///< the gauge's last value
};

}  // namespace beckon::ingest
