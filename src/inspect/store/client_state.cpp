#include "inspect/store/client_state.hpp"

#include "core/log_names.hpp"
#include "inspect/store/scratch_store.hpp"

#include <limits>

#include <nlohmann/json.hpp>

namespace beckon::inspect {

using core::RecordView;
using core::Timestamp;
using Json = nlohmann::ordered_json;

namespace {

/// Folds the client's records of one log topic that were appended up to `at`.
core::Result<void> fold_until(log::EventLog& log, log::TopicPartition where, const core::Uaid& uaid,
                              Timestamp at, ScratchStore& store, const ScanLimits& limits) {
    const auto client = core::to_hex(uaid);
    const auto sink = [&](const RecordView& record) {
        if (record.time > at) return log::Next::stop;
        if (record.key.starts_with(client)) store.fold(where.topic, record);
        return log::Next::go_on;
    };
    return scan(log, where, 0, sink, limits);
}

std::vector<WaitingMessage> waiting_of(store::PartitionStore& partition, const core::Uaid& client,
                                       Timestamp at) {
    std::vector<WaitingMessage> out;
    each_waiting(partition, client, at, [&](const store::MessageView& message) {
        out.push_back({.key = message.key,
                       .channel = message.channel,
                       .offset = message.offset,
                       .appended = message.appended,
                       .expires = message.expiry,
                       .topic = std::string{message.topic.value_or("")},
                       .bytes = message.body.size()});
    });
    return out;
}

std::int64_t ms(Timestamp time) { return time.time_since_epoch().count(); }

Json state_json(const store::StoredClient& client) {
    return {{"router_type", to_string(client.router_type)},
            {"created", ms(client.created)},
            {"last_seen", ms(client.last_seen)}};
}

Json state_json(const WaitingMessage& message) {
    return {{"message", core::log_name(message.key)},
            {"channel", core::to_dashed(message.channel)},
            {"offset", message.offset},
            {"appended", ms(message.appended)},
            {"expires", ms(message.expires)},
            {"topic", message.topic},
            {"bytes", message.bytes}};
}

}  // namespace

core::Result<ClientState> state_of_client(log::EventLog& log, const core::Uaid& client,
                                          Timestamp at, core::Partition partitions,
                                          const ScanLimits& limits) {
    const auto p = core::partition_of(client, partitions);
    auto store = ScratchStore::open(p);
    if (!store) return core::fail(store.error());
    for (const auto topic : {log::Topic::kSubscriptions, log::Topic::kNotifications}) {
        const auto folded = fold_until(log, {topic, p}, client, at, **store, limits);
        if (!folded) return core::fail(folded.error());
    }
    auto& partition = (*store)->partition();
    return ClientState{.at = at,
                       .client = partition.client(client),
                       .channels = partition.channels(client),
                       .waiting = waiting_of(partition, client, at)};
}

Json state_json(const core::Uaid& client, const ClientState& state) {
    Json out{{"client", core::log_name(client)}, {"at", ms(state.at)}};
    out["known"] = state.client ? state_json(*state.client) : Json(nullptr);
    out["channels"] = Json::array();
    for (const auto& channel : state.channels) {
        out["channels"].push_back({{"channel", core::to_dashed(channel.channel)},
                                   {"created", ms(channel.created)},
                                   {"bound_to_vapid_key", !channel.vapid_sha256.empty()}});
    }
    out["waiting"] = Json::array();
    for (const auto& message : state.waiting) out["waiting"].push_back(state_json(message));
    return out;
}

}  // namespace beckon::inspect
