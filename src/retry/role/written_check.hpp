#pragma once

#include "core/record.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "retry/webhook/webhook.hpp"

namespace beckon::retry {

/// Decodes the record of an owner's request again before the log takes it: what is accepted can be
/// read later. Errors: too_large (an event), invalid (why it cannot be read). Pure.
core::Result<void> check_written(const log::TopicPartition& where, const core::RecordView& record,
                                 const SecretBox& box);

}  // namespace beckon::retry
