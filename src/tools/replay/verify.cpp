#include "tools/replay/verify.hpp"

#include "core/json_text.hpp"
#include "log/read_partition.hpp"
#include "tools/replay/store_rows.hpp"

#include <array>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::tools {

using store::Source;

namespace {

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

/// From the store's checkpoints to these ends.
core::Result<void> fold_rest(log::EventLog& log, core::Partition partition,
                             inspect::ScratchStore& store, const EndOffsets& ends,
                             std::chrono::milliseconds timeout) {
    for (const auto& [topic, source] : kInputs) {
        const auto checkpoint = store.partition().checkpoint(source);
        core::Result<void> committed;
        const auto sink = [&, topic = topic](const core::RecordView& record) {
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
    for (auto* store : {&copy, rebuilt->get()}) {
        const auto folded = fold_rest(log, partition, *store, *ends, options.timeout);
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
