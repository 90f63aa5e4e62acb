#include "app/command/progress.hpp"
#include "app/exit_codes.hpp"
#include "app/process/process.hpp"
#include "core/base64url.hpp"
#include "core/json_text.hpp"
#include "inspect/store/scratch_store.hpp"
#include "log/read_partition.hpp"
#include "tools/running/tool_log.hpp"
#include "tools/subscriptions/subscriptions_tool.hpp"

#include <chrono>
#include <limits>
#include <optional>
#include <ostream>

#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::milliseconds kRecordTimeout{10'000};
constexpr std::size_t kClientsOfPage = 1'000;

void fold(log::EventLog& log, log::TopicPartition where, inspect::ScratchStore& store) {
    app::must(log::read_partition(
        log, where,
        [&](const core::RecordView& record) {
            store.fold(where.topic, record);
            if (store.partition().commit_due()) app::must(store.partition().commit());
        },
        kRecordTimeout));
    app::must(store.partition().commit());
}

Json message_json(const store::MessageView& message) {
    Json out{{"channelID", core::to_dashed(message.channel)},
             {"appended", message.appended.time_since_epoch().count()},
             {"expires", message.expiry.time_since_epoch().count()}};
    const auto add = [&out](const char* name, const std::optional<std::string_view>& text) {
        if (text) out[name] = *text;
    };
    add("topic", message.topic);
    add("encoding", message.encoding);
    add("encryption", message.encryption);
    add("crypto_key", message.crypto_key);
    out["body"] = core::base64url(message.body);
    return out;
}

Json messages_json(store::PartitionStore& partition, const core::Uaid& client,
                   core::Timestamp now) {
    auto out = Json::array();
    inspect::each_waiting(partition, client, now,
                          [&](const auto& message) { out.push_back(message_json(message)); });
    return out;
}

Json client_json(store::PartitionStore& partition, const core::Uaid& uaid,
                 const store::StoredClient& client) {
    Json out{
        {"uaid", core::to_dashed(uaid)},
        {"router_type", to_string(client.router_type)},
        {"last_seen",
         std::chrono::floor<std::chrono::seconds>(client.last_seen).time_since_epoch().count()}};
    if (!client.router_data.empty()) {
        out["router_data"] = core::must_parse_ordered_json(client.router_data);
    }
    out["channelIDs"] = Json::array();
    auto bound = Json::object();
    for (const auto& channel : partition.channels(uaid)) {
        const auto id = core::to_dashed(channel.channel);
        out["channelIDs"].push_back(id);
        if (!channel.vapid_sha256.empty()) bound[id] = channel.vapid_sha256;
    }
    if (!bound.empty()) out["vapid_sha256"] = std::move(bound);
    return out;
}

}  // namespace

int subscriptions_export(const app::Config& config, const ExportOptions& options,
                         std::ostream& out) {
    ToolLog log{config};
    const auto partitions = log.control().partitions;
    const auto now = core::SystemClock{}.wall();
    app::Progress progress{"exporting", "partitions", static_cast<std::uint64_t>(partitions)};
    for (core::Partition p = 0; p < partitions; ++p) {
        progress.at(static_cast<std::uint64_t>(p));
        const auto store = app::must(inspect::ScratchStore::open(p));
        fold(log.log(), {log::Topic::kSubscriptions, p}, *store);
        if (options.messages) fold(log.log(), {log::Topic::kNotifications, p}, *store);
        auto& partition = store->partition();
        std::optional<core::Uaid> after;
        do {
            const auto page = partition.clients_after(after, kClientsOfPage);
            for (const auto& [uaid, client] : page.clients) {
                auto line = client_json(partition, uaid, client);
                if (options.messages) line["messages"] = messages_json(partition, uaid, now);
                out << core::json_text(line) << '\n';
            }
            after = page.next;
        } while (after && out);
        if (partition.broken()) throw app::StartupError("the scratch store cannot be read");
    }
    return out.flush() ? app::kDone : app::kFailed;
}

}  // namespace beckon::tools
