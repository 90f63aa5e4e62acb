#pragma once

#include "inspect/trace/message_trace.hpp"

#include <cstddef>

/// The life of one client, as the log topics have it. Blocking.
namespace beckon::inspect {

struct ClientTrace {
    core::Uaid client;
    core::Partition partition = 0;
    std::vector<TraceStep> steps;  ///< in order of time
    bool cut = false;              ///< there were more, and the oldest are left out
};

struct ClientTraceOptions {
    TraceOptions trace;
    core::Timestamp since{};  ///< messages that were put earlier are left out
    std::size_t steps_max = 400;
};

/// The history of a client and its channels, its messages with their ends, and the homes of its
/// partition. Errors: those of scan().
core::Result<ClientTrace> trace_client(log::EventLog& log, const core::Uaid& client,
                                       const ClientTraceOptions& options);

/// The part of it that `subscriptions` holds: the newest records of the client and its channels.
core::Result<std::vector<TraceStep>> subscription_steps(log::EventLog& log,
                                                        const core::Uaid& client,
                                                        const TraceOptions& options);

/// Whether `subscriptions` has a record of the client or of one of its channels, and be it that the
/// client was removed. Errors: the same.
core::Result<bool> has_client(log::EventLog& log, const core::Uaid& client,
                              const TraceOptions& options);

}  // namespace beckon::inspect
