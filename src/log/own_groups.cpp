#include "core/lifetime.hpp"
#include "log/blocking_executor.hpp"
#include "log/groups.hpp"

#include <map>
#include <optional>
#include <utility>

namespace beckon::log {

namespace {

constexpr std::chrono::seconds kAnswerMax{5};
/// Enough to find one record that is there; control records and gaps are few.
constexpr std::size_t kRecordsMax = 16;
/// How often a wait looks whether it is to stop.
constexpr std::chrono::milliseconds kPoll{200};

class OwnGroups final : public Groups {
public:
    OwnGroups(EventLog& log, std::vector<OwnGroup> groups,
              std::map<std::string, std::chrono::milliseconds> retention)
        : log_(log), groups_(std::move(groups)), retention_(std::move(retention)) {}

    core::Result<GroupsSnapshot> poll(const std::stop_token& stop) override {
        GroupsSnapshot found;
        found.retention = retention_;
        ends_.clear();
        for (const auto& group : groups_) {
            if (const auto added = add(group, found, stop); !added) {
                return core::fail(added.error());
            }
        }
        return found;
    }

    core::Result<std::optional<core::Timestamp>> append_time(const NamedPartition& where,
                                                             core::Offset offset,
                                                             const std::stop_token& stop) override {
        const auto topic = Topic::parse(where.topic);
        if (!topic) return core::fail(core::Fault::not_found, "no log topic " + where.topic);
        std::optional<core::Timestamp> time;
        const auto reader = log_.open_reader({*topic, where.partition}, offset, executor_, [] {});
        const auto read = [&] {
            const auto taken = reader->take(kRecordsMax, [&](const core::RecordView& record) {
                if (!time) time = record.time;
            });
            return time || (taken && taken->drained);
        };
        wait(executor_, read, stop);
        return time;
    }

private:
    bool wait(BlockingExecutor& executor, const std::function<bool()>& done,
              const std::stop_token& stop) const {
        const auto until = clock_.mono() + kAnswerMax;
        while (!stop.stop_requested() && clock_.mono() < until) {
            if (executor.wait_until(done, clock_.mono() + kPoll)) return true;
        }
        return false;
    }

    /// Asks the log a query and waits; an answer that comes later is dropped.
    template <class T, class Ask>
    core::Result<T> answer(const Ask& ask, const std::stop_token& stop) {
        std::optional<core::Result<T>> got;
        const core::Lifetime asking{executor_};
        core::ask_while(asking, ask, [&got](const core::Result<T>& result) { got = result; });
        if (wait(
                executor_, [&got] { return got.has_value(); }, stop))
            return *got;
        return core::fail(core::Fault::timed_out, "the log does not answer");
    }

    core::Result<void> add(const OwnGroup& group, GroupsSnapshot& found,
                           const std::stop_token& stop) {
        const auto committed = answer<std::vector<GroupOffset>>(
            [&](core::Executor& executor, auto done) {
                log_.committed(group.name, group.partitions, executor, std::move(done));
            },
            stop);
        if (!committed) return core::fail(committed.error());
        for (const auto& one : *committed) {
            const auto ends = ends_of(one.where, stop);
            if (!ends) return core::fail(ends.error());
            found.positions.push_back({.group = group.name,
                                       .where = {one.where.topic.name(), one.where.partition},
                                       .position = one.offset,
                                       .ends = *ends,
                                       .owner = group.owner});
        }
        return {};
    }

    core::Result<Ends> ends_of(TopicPartition where, const std::stop_token& stop) {
        if (const auto known = ends_.find(where); known != ends_.end()) return known->second;
        auto ends = answer<Ends>([&](core::Executor& executor,
                                     auto done) { log_.ends(where, executor, std::move(done)); },
                                 stop);
        if (ends) ends_.emplace(where, *ends);
        return ends;
    }

    EventLog& log_;
    const std::vector<OwnGroup> groups_;
    const std::map<std::string, std::chrono::milliseconds> retention_;
    core::SystemClock clock_;
    BlockingExecutor executor_;
    std::map<TopicPartition, Ends> ends_;  ///< of the look under way
};

}  // namespace

std::unique_ptr<Groups> open_own_groups(
    EventLog& log, std::vector<OwnGroup> groups,
    std::map<std::string, std::chrono::milliseconds> retention) {
    return std::make_unique<OwnGroups>(log, std::move(groups), std::move(retention));
}

}  // namespace beckon::log
