#pragma once

#include "core/executor.hpp"
#include "core/milestone.hpp"
#include "core/tokens.hpp"
#include "ingest/call/responder.hpp"
#include "ingest/registration/registration.hpp"
#include "ingest/send/sending.hpp"
#include "log/event_log.hpp"

#include <memory>
#include <optional>

namespace beckon::ingest {

/// Answers HTTP requests over the log, without any sockets: the endpoint's logic. One instance
/// per loop, used on its thread only.
class Service final : public net::HttpHandler {
public:
    Service(ServiceShared& shared, log::EventLog& log, core::Executor& executor);
    ~Service() override { responder_.end(); }

    /// Replies now or later, exactly once, on this thread. Never blocks.
    void handle(ExchangePtr exchange) override;
    HttpReply rejection(net::Rejection why) override;

private:
    void dispatch(const CallPtr& call);
    void preflight(const CallPtr& call);
    void poll_receipt(const CallPtr& call);
    void notify_matrix(const CallPtr& call);
    HttpReply milestones_reply(const Call& call) const;
    std::optional<core::MilestoneCounts> milestone_counts() const;

    ServiceShared& shared_;
    Responder responder_;
    std::unique_ptr<log::Publisher> publisher_;
    core::Tokens tokens_;
    core::Executor& executor_;
    Sending sending_;
    Registration registration_;
};

}  // namespace beckon::ingest
