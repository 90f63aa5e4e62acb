#include "tools/replay/store_rows.hpp"

#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>

namespace beckon::tools {

namespace {

constexpr std::size_t kClientsAtATime = 1'000;
constexpr std::size_t kMessagesAtATime = 1'000;
constexpr core::Offset kNoEnd = std::numeric_limits<core::Offset>::max();

std::size_t hash_of(std::initializer_list<std::string_view> parts) {
    std::string all;
    for (const auto part : parts) all.append(std::to_string(part.size())).append(":").append(part);
    return std::hash<std::string>{}(all);
}

std::string text_of(core::Timestamp time) {
    return std::to_string(time.time_since_epoch().count());
}

std::string text_of(const std::optional<core::WriteStamp>& stamp) {
    return stamp ? std::to_string(stamp->epoch) + ' ' + std::to_string(stamp->seq) : "";
}

/// Adds the rows of one client.
class ClientRows {
public:
    ClientRows(store::PartitionStore& partition, core::Timestamp now, StoreRows& rows)
        : partition_(partition), now_(now), rows_(rows) {}

    void add(const core::Uaid& uaid, const store::StoredClient& client) {
        rows_[{"client", core::to_hex(uaid)}] =
            hash_of({to_string(client.router_type), client.router_data, text_of(client.created),
                     text_of(client.last_seen), text_of(client.stamp)});
        for (const auto& channel : partition_.channels(uaid)) {
            rows_[{"channel", core::to_hex(uaid) + '/' + core::to_hex(channel.channel)}] =
                hash_of({text_of(channel.created), channel.vapid_sha256, text_of(channel.stamp)});
        }
        add_messages(uaid);
    }

private:
    void add_messages(const core::Uaid& uaid) {
        store::DrainCursor cursor{.until = kNoEnd};
        bool done = false;
        while (!done) {
            done = partition_
                       .read_pending(uaid, cursor, kMessagesAtATime, now_,
                                     [&](const auto& message) { add_message(uaid, message); })
                       .done;
        }
    }
    void add_message(const core::Uaid& uaid, const store::MessageView& message) {
        rows_[{"message", core::to_hex(uaid) + '/' + core::to_hex(message.key)}] = hash_of(
            {std::to_string(message.offset), text_of(message.appended), text_of(message.expiry),
             core::to_hex(message.channel), message.message_id, message.topic.value_or(""),
             message.encoding.value_or(""), message.encryption.value_or(""),
             message.crypto_key.value_or(""), message.reliability_id.value_or(""), message.body});
    }

    store::PartitionStore& partition_;
    const core::Timestamp now_;
    StoreRows& rows_;
};

}  // namespace

StoreRows rows_of(store::PartitionStore& partition, core::Timestamp now) {
    StoreRows rows;
    ClientRows of_client{partition, now, rows};
    std::optional<core::Uaid> after;
    for (;;) {
        const auto clients = partition.clients_after(after, kClientsAtATime);
        for (const auto& [uaid, client] : clients) of_client.add(uaid, client);
        if (clients.size() < kClientsAtATime) break;
        after = clients.back().first;
    }
    for (const auto& pending : partition.pending_tombstones()) {
        rows[{"pending_tombstone", core::to_hex(pending.uaid) + '/' + core::to_hex(pending.key)}] =
            hash_of({to_string(pending.reason), std::to_string(pending.put_offset)});
    }
    return rows;
}

}  // namespace beckon::tools
