#pragma once

#include "core/partition.hpp"
#include "core/record.hpp"
#include "core/result.hpp"

#include <map>
#include <string_view>

namespace beckon::retry {

/// A record in each partition of `events`: it says that changes of webhooks, which stand in
/// `webhooks` below these offsets, are about to be answered. Events behind the record may have been
/// posted after that answer, so a node matches them only once it has read `webhooks` up to these
/// offsets (docs/formats/retry.md#changes-of-webhooks).
struct WebhooksChanged {
    std::map<core::Partition, core::Offset> below;  ///< by partition of `webhooks`
    bool operator==(const WebhooksChanged&) const = default;
};

/// `node` is the writer's id.
core::Record encode(const WebhooksChanged& changed, std::string_view node);
/// Errors: not_found (another kind of record), corrupt.
core::Result<WebhooksChanged> decode_webhooks_changed(const core::RecordView& record);

}  // namespace beckon::retry
