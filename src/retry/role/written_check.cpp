#include "retry/role/written_check.hpp"

#include "retry/event/event.hpp"
#include "retry/webhook/webhooks_changed.hpp"

#include <string_view>

namespace beckon::retry {

using core::Fault;
using log::Topic;

core::Result<void> check_written(const log::TopicPartition& where, const core::RecordView& record,
                                 const SecretBox& box) {
    const auto readable = [](const auto& decoded) -> core::Result<void> {
        if (decoded) return {};
        return core::fail(Fault::invalid,
                          "its record could not be read again: " + decoded.error().message);
    };
    if (!record.value) return {};
    if (where.topic == Topic::kEvents) {
        if (!is_event(record)) return readable(decode_webhooks_changed(record));
        if (record.value->size() <= kEventBytesMax) return readable(decode_event(record));
        return core::fail(Fault::too_large,
                          "an event may have 262144 bytes, with beckonowner and data as they are "
                          "kept");
    }
    if (where.topic != Topic::kWebhooks) return {};
    if (record.key.ends_with("/state")) return readable(decode_webhook_state(record));
    const bool webhook = record.key.find('/') == std::string_view::npos;
    return webhook ? readable(decode_webhook(record, box)) : core::Result<void>{};
}

}  // namespace beckon::retry
