#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/record.hpp"
#include "records/events.hpp"
#include "tools/subscriptions/import_file.hpp"

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

/// The difference between the clients of a file and those of the log. Pure.
namespace beckon::tools {

/// The state of a key by the log's newest record of it.
struct KnownKey {
    bool live = false;
    std::optional<core::WriteStamp> stamp;
};
struct KnownClient {
    std::optional<KnownKey> client;
    std::map<core::ChannelId, KnownKey> channels;
};

/// The state of some clients in the log. fold() takes the records of `subscriptions`, in the order
/// of each partition, and decides as every fold does which of them count
/// (docs/design.md#late-writes).
class KnownClients {
public:
    explicit KnownClients(const std::vector<ImportedClient>& wanted);
    void fold(const core::SubscriptionsEvent& event);
    const KnownClient& of(const core::Uaid& uaid) const { return known_.at(uaid); }

private:
    std::unordered_map<core::Uaid, KnownClient> known_;
};

enum class ImportKind {
    fresh,      ///< the log does not have the client
    again,      ///< the client had been removed, and comes back
    completed,  ///< channels of it are missing in the log
    unchanged,  ///< the log has it already
    too_old,    ///< its home would remove it again
};
inline constexpr int kImportKinds = static_cast<int>(ImportKind::too_old) + 1;

struct ImportLimits {
    core::Timestamp now;
    core::Duration client_ttl;  ///< edge.client_ttl
    bool seen_now = false;      ///< every client counts as seen now
};

struct ImportPlan {
    ImportKind kind = ImportKind::unchanged;
    std::vector<core::Record> records;  ///< to publish, in this order
    std::size_t channels = 0;           ///< of them
};
ImportPlan plan_import(const ImportedClient& client, const KnownClient& known,
                       const ImportLimits& limits);

}  // namespace beckon::tools
