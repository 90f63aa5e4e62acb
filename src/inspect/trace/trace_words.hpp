#pragma once

#include "core/clock.hpp"
#include "core/milestone.hpp"
#include "inspect/trace/client_trace.hpp"
#include "inspect/trace/message_trace.hpp"
#include "records/events.hpp"

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

/// Records explained in sentences for people, and a trace as text or JSON. Pure functions.
namespace beckon::inspect {

std::string accepted_words(const core::NotificationAccepted& message, core::Timestamp expires);
/// `tombstone`: says what its client got or answered (core/client_code.hpp).
std::string finished_words(core::FinishReason reason, const core::RecordView& tombstone);
std::string home_words(std::string_view node, core::Epoch epoch);
std::string newer_words(const core::NotificationAccepted& newer);
/// Empty for records that concern no client (read barriers, leases).
std::string subscription_words(const core::SubscriptionsEvent& event);
std::string_view milestone_words(core::Milestone milestone);

/// A step at a record.
TraceStep step_of(log::TopicPartition where, const core::RecordView& record, std::string what,
                  std::string why);
/// The step that a record of `notifications` means: accepted, finished or home; nullopt: none for
/// people.
std::optional<TraceStep> notification_step(log::TopicPartition where,
                                           const core::RecordView& record,
                                           const core::NotificationsEvent& event);

/// Of a message that has no end in the log.
std::string verdict_words(TraceOutcome outcome, core::Timestamp expires);
/// The sentence for a message made at that time of which the log has no record.
std::string unknown_words(core::Timestamp made, core::Timestamp now);
/// The same, where only the records within `window` around that time were read.
std::string not_sought_words(core::Timestamp made, core::Duration window);

/// The steps in lines for people, an empty one before each.
std::string steps_text(const MessageTrace& trace);
nlohmann::ordered_json trace_json(const MessageTrace& trace);
nlohmann::ordered_json trace_json(const ClientTrace& trace);

}  // namespace beckon::inspect
