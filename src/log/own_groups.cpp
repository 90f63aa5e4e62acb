#include "log/groups.hpp"
#include "log/read_partition.hpp"

#include <map>
#include <optional>
#include <utility>

namespace beckon::log {

namespace {

/// An embedded log answers at once.
constexpr std::chrono::seconds kAnswerMax{5};

class OwnGroups final : public Groups {
public:
    OwnGroups(EventLog& log, std::vector<OwnGroup> groups,
              std::map<std::string, std::chrono::milliseconds> retention)
        : log_(log), groups_(std::move(groups)), retention_(std::move(retention)) {}

    core::Result<GroupsSnapshot> poll(const std::stop_token& stop) override {
        GroupsSnapshot found;
        found.retention = retention_;
        std::vector<TopicPartition> where;  // of each position
        for (const auto& group : groups_) {
            if (stop.stop_requested()) return core::fail(core::Fault::unavailable, "stopping");
            const auto read = committed_offsets(log_, group.name, group.partitions, kAnswerMax);
            if (!read) return core::fail(read.error());
            for (const auto& one : *read) {
                where.push_back(one.where);
                found.positions.push_back({.group = group.name,
                                           .where = {one.where.topic.name(), one.where.partition},
                                           .position = one.offset,
                                           .ends = {},
                                           .owner = group.owner});
            }
        }
        const auto ends = ends_of(log_, where, kAnswerMax);
        if (!ends) return core::fail(ends.error());
        for (std::size_t i = 0; i < where.size(); ++i) {
            const auto known = ends->find(where[i]);
            if (known != ends->end()) found.positions[i].ends = known->second;
        }
        return found;
    }

    core::Result<std::optional<core::Timestamp>> append_time(const NamedPartition& where,
                                                             core::Offset offset,
                                                             const std::stop_token&) override {
        const auto topic = Topic::parse(where.topic);
        if (!topic) return core::fail(core::Fault::not_found, "no log topic " + where.topic);
        std::optional<core::Timestamp> time;
        const auto read = read_range(
            log_, {*topic, where.partition}, {.from = offset},
            [&](const core::RecordView& record) {
                time = record.time;
                return Next::stop;
            },
            kAnswerMax);
        if (!read) return core::fail(read.error());
        return time;
    }

private:
    EventLog& log_;
    const std::vector<OwnGroup> groups_;
    const std::map<std::string, std::chrono::milliseconds> retention_;
};

}  // namespace

std::unique_ptr<Groups> open_own_groups(
    EventLog& log, std::vector<OwnGroup> groups,
    std::map<std::string, std::chrono::milliseconds> retention) {
    return std::make_unique<OwnGroups>(log, std::move(groups), std::move(retention));
}

}  // namespace beckon::log
