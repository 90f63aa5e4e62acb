#include "tools/replay/verify.hpp"

#include "core/json_text.hpp"
#include "log/read_partition.hpp"
#include "store/partition_store.hpp"

#include <array>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::tools {

using store::Source;

namespace {

/// Kind and name of each row, and a hash of the rest. Kinds: client, channel, message,
/// pending_tombstone. Names are `<uaid>`, or `<uaid>/<channel or message key>`, in hex.
using StoreRows = std::map<std::pair<std::string, std::string>, std::size_t>;

constexpr std::size_t kClientsAtATime = 1'000;

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
        inspect::each_waiting(partition_, uaid, now_,
                              [&](const auto& message) { add_message(uaid, message); });
    }

private:
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

/// The rows of the known clients, of their channels, and of their waiting messages that have not
/// expired by `now`; and all pending tombstones. All rows are in memory.
StoreRows rows_of(store::PartitionStore& partition, core::Timestamp now) {
    StoreRows rows;
    ClientRows of_client{partition, now, rows};
    std::optional<core::Uaid> after;
    do {
        const auto page = partition.clients_after(after, kClientsAtATime);
        for (const auto& [uaid, client] : page.clients) of_client.add(uaid, client);
        after = page.next;
    } while (after);
    for (const auto& pending : partition.pending_tombstones()) {
        rows[{"pending_tombstone", core::to_hex(pending.uaid) + '/' + core::to_hex(pending.key)}] =
            hash_of({to_string(pending.reason), std::to_string(pending.put_offset)});
    }
    return rows;
}

struct Input {
    log::Topic topic;
    Source source;
};
constexpr std::array kInputs{Input{log::Topic::kSubscriptions, Source::subscriptions},
                             Input{log::Topic::kNotifications, Source::notifications}};

using EndOffsets = std::map<log::Topic, core::Offset>;

/// Both stores are folded up to here, however much is appended meanwhile.
core::Result<EndOffsets> ends_now(log::EventLog& log, core::Partition partition,
                                  std::chrono::milliseconds timeout) {
    EndOffsets out;
    for (const auto& input : kInputs) {
        const auto ends = log::ends_of(log, {input.topic, partition}, timeout);
        if (!ends) return core::fail(ends.error());
        out[input.topic] = ends->end;
    }
    return out;
}

/// From the store's checkpoints to these ends. `folded` is called with the number of offsets since
/// its last call.
core::Result<void> fold_rest(log::EventLog& log, core::Partition partition,
                             inspect::ScratchStore& store, const EndOffsets& ends,
                             std::chrono::milliseconds timeout,
                             const std::function<void(std::uint64_t)>& folded) {
    for (const auto& [topic, source] : kInputs) {
        const auto checkpoint = store.partition().checkpoint(source);
        core::Result<void> committed;
        std::optional<core::Offset> next;
        const auto sink = [&, topic = topic](const core::RecordView& record) {
            folded(static_cast<std::uint64_t>(record.offset + 1 - next.value_or(record.offset)));
            next = record.offset + 1;
            store.fold(topic, record);
            if (store.partition().commit_due()) committed = store.partition().commit();
            return committed ? log::Next::go_on : log::Next::stop;
        };
        const auto read =
            log::read_range(log, {topic, partition},
                            {checkpoint ? checkpoint->next : 0, ends.at(topic)}, sink, timeout);
        if (!read) return core::fail(read.error());
        if (!committed) return committed;
        store.partition().advance(source, *read, std::nullopt);
    }
    return store.partition().commit();
}

/// The home's decisions are in its store before they are in the log. A message whose end both know,
/// but not as the same (only the home knows that the client acknowledged a message before its
/// sender deleted it), is over in both as soon as its tombstone is read.
core::Result<std::size_t> take_over_pending_tombstones(store::PartitionStore& from,
                                                       store::PartitionStore& to) {
    std::size_t pending_tombstones = 0;
    for (const auto& pending : from.pending_tombstones()) {
        if (to.add_tombstone(pending.uaid, pending.key, pending.reason, pending.milestone())) {
            ++pending_tombstones;
        } else if (to.tombstone_pending(pending.uaid, pending.key)) {
            const core::NotificationFinished done{.uaid = pending.uaid,
                                                  .key = pending.key,
                                                  .reason = core::FinishReason::acked,
                                                  .source = {}};
            from.finish(done, {});
            to.finish(done, {});
        }
    }
    for (auto* store : {&from, &to}) {
        if (const auto done = store->commit(); !done) return core::fail(done.error());
    }
    return pending_tombstones;
}

void note(Verified& out, const StoreRows::key_type& row, std::string what) {
    if (++out.differ > Verified::kDifferencesMax) return;
    out.differences.push_back({row.first, row.second, std::move(what)});
}

void compare_rows(const StoreRows& stored, const StoreRows& rebuilt, Verified& out) {
    for (const auto& [row, value] : stored) {
        const auto other = rebuilt.find(row);
        if (other == rebuilt.end()) {
            note(out, row, "only the store has it");
        } else if (other->second != value) {
            note(out, row, "the store has another value");
        }
    }
    for (const auto& item : rebuilt) {
        if (!stored.contains(item.first)) note(out, item.first, "the store lacks it");
    }
}

nlohmann::ordered_json json_of(const Difference& one) {
    return {{"kind", one.kind}, {"row", one.row}, {"what", one.what}};
}

}  // namespace

core::Result<std::map<core::Partition, std::uint64_t>> log_sizes(
    log::EventLog& log, const std::vector<core::Partition>& partitions,
    std::chrono::milliseconds timeout) {
    std::vector<log::TopicPartition> inputs;
    for (const auto partition : partitions) {
        for (const auto& input : kInputs) inputs.push_back({input.topic, partition});
    }
    const auto ends = log::ends_of(log, inputs, timeout);
    if (!ends) return core::fail(ends.error());
    std::map<core::Partition, std::uint64_t> sizes;
    for (const auto& [where, one] : *ends) {
        sizes[where.partition] += static_cast<std::uint64_t>(one.end - one.start);
    }
    return sizes;
}

core::Result<std::optional<Verified>> verify_partition(log::EventLog& log,
                                                       inspect::ScratchStore& copy,
                                                       core::Partition partition,
                                                       const VerifyOptions& options) {
    copy.use(partition);
    if (!copy.partition().checkpoint(Source::notifications)) return std::optional<Verified>{};
    const auto rebuilt = inspect::ScratchStore::open(partition);
    if (!rebuilt) return core::fail(rebuilt.error());
    const auto ends = ends_now(log, partition, options.timeout);
    if (!ends) return core::fail(ends.error());
    std::uint64_t passed = 0;
    const std::function<void(std::uint64_t)> none = [](std::uint64_t) {};
    const std::function<void(std::uint64_t)> count = [&](std::uint64_t offsets) {
        options.progress(passed += offsets);
    };
    for (auto* store : {&copy, rebuilt->get()}) {
        const auto folded = fold_rest(log, partition, *store, *ends, options.timeout,
                                      store == &copy ? none : count);
        if (!folded) return core::fail(folded.error());
    }
    Verified out{.partition = partition, .stored = {}, .rebuilt = {}, .differences = {}};
    auto& anew = (*rebuilt)->partition();
    const auto taken_over = take_over_pending_tombstones(copy.partition(), anew);
    if (!taken_over) return core::fail(taken_over.error());
    out.pending_tombstones = *taken_over;
    out.stored = copy.partition().digest(options.now);
    out.rebuilt = anew.digest(options.now);
    if (!out.agree()) {
        compare_rows(rows_of(copy.partition(), options.now), rows_of(anew, options.now), out);
    }
    return std::optional{std::move(out)};
}

std::string verified_json(const Verified& verified) {
    nlohmann::ordered_json out{{"partition", verified.partition},
                               {"agree", verified.agree()},
                               {"stored", verified.stored},
                               {"rebuilt", verified.rebuilt},
                               {"pending_tombstone", verified.pending_tombstones}};
    if (verified.agree()) return core::json_text(out);
    out["differ"] = verified.differ;
    out["differences"] = nlohmann::ordered_json::array();
    for (const auto& one : verified.differences) out["differences"].push_back(json_of(one));
    return core::json_text(out);
}

}  // namespace beckon::tools
