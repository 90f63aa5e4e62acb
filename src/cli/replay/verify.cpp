#include "cli/replay/verify.hpp"

#include "cli/replay/scratch_store.hpp"
#include "log/read_partition.hpp"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::cli {

using store::Source;

namespace {

struct Input {
    log::Topic topic;
    Source source;
};
constexpr std::array kInputs{Input{log::Topic::kSubscriptions, Source::subscriptions},
                             Input{log::Topic::kNotifications, Source::notifications}};

/// From the store's checkpoints to the log's ends, as they are now.
core::Result<void> fold_rest(log::EventLog& log, core::Partition partition, ScratchStore& store,
                             std::chrono::milliseconds timeout) {
    for (const auto& [topic, source] : kInputs) {
        const auto checkpoint = store.partition().checkpoint(source);
        core::Result<void> committed;
        const auto sink = [&](const core::RecordView& record) {
            store.fold(topic, record);
            if (store.partition().commit_due()) committed = store.partition().commit();
            return committed ? log::Next::go_on : log::Next::stop;
        };
        const auto read = log::read_range(log, {topic, partition},
                                          {checkpoint ? checkpoint->next : 0}, sink, timeout);
        if (!read) return core::fail(read.error());
        if (!committed) return committed;
        store.partition().advance(source, *read, std::nullopt);
    }
    return store.partition().commit();
}

/// What the home decided is in its store before it is in the log.
std::size_t take_over_debts(store::PartitionStore& from, store::PartitionStore& to) {
    std::size_t owed = 0;
    for (const auto& debt : from.debts()) {
        const auto end = debt.end ? std::optional{debt.end->milestone} : std::nullopt;
        owed += to.owe(debt.uaid, debt.key, debt.reason, end) ? 1 : 0;
    }
    return owed;
}

}  // namespace

core::Result<std::optional<Verified>> verify_partition(log::EventLog& log, ScratchStore& copy,
                                                       core::Partition partition,
                                                       const VerifyOptions& options) {
    copy.use(partition);
    if (!copy.partition().checkpoint(Source::notifications)) return std::optional<Verified>{};
    const auto rebuilt = ScratchStore::open(partition);
    if (!rebuilt) return core::fail(rebuilt.error());
    for (auto* store : {&copy, rebuilt->get()}) {
        const auto folded = fold_rest(log, partition, *store, options.timeout);
        if (!folded) return core::fail(folded.error());
    }
    Verified out{.partition = partition, .stored = {}, .rebuilt = {}};
    auto& anew = (*rebuilt)->partition();
    out.owed = take_over_debts(copy.partition(), anew);
    if (const auto done = anew.commit(); !done) return core::fail(done.error());
    out.stored = copy.partition().digest(options.now);
    out.rebuilt = anew.digest(options.now);
    return std::optional{std::move(out)};
}

std::string verified_json(const Verified& verified) {
    return nlohmann::ordered_json{{"partition", verified.partition},
                                  {"agree", verified.agree()},
                                  {"stored", verified.stored},
                                  {"rebuilt", verified.rebuilt},
                                  {"owed", verified.owed}}
        .dump();
}

}  // namespace beckon::cli
