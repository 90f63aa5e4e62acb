#include "app/installation/installation.hpp"
#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/blocking_executor.hpp"
#include "log/control.hpp"
#include "log/event_log.hpp"
#include "log/range_scan.hpp"
#include "log/read_partition.hpp"
#include "records/dead_letter.hpp"
#include "records/done.hpp"
#include "records/events.hpp"
#include "retry/event/event.hpp"
#include "tools/running/tool_log.hpp"
#include "tools/topics/topics_tool.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace beckon::tools {

using retry::Delivery;

namespace {

using core::Fault;
using core::Offset;
using core::Partition;
using log::Topic;
using log::TopicPartition;
using retry::DoneRecord;

/// As the role retry commits its positions (TierWatch), so that a copy can translate them.
constexpr const char* kGroup = "retry";

constexpr std::size_t kRewritesUnansweredMax = 1'000;

/// The places of events in a copy of the log, where offsets differ. Deliveries and dead letters
/// that wait name large events by their offsets: add() collects which events are named, find()
/// reads `events` once, and rewrite() writes what waits behind itself, with the new places and one
/// hop more, so that the records before count as copies. An event that the copy does not have is
/// named as before: its delivery becomes a dead letter. Blocking; one thread.
class NamedEvents {
public:
    NamedEvents(log::EventLog& log, std::chrono::milliseconds timeout)
        : log_(log), timeout_(timeout) {}

    /// Of a tier, or of `retry.dead`, what waits in this range.
    core::Result<void> add(TopicPartition where, log::Range range) {
        bool named = false;
        const auto sink = [&](const core::RecordView& record) {
            if (const auto settled = retry::decode_settled(record)) {
                auto& hop = settled_[settled->delivery];
                hop = std::max(hop, settled->hop);
            } else if (const auto delivery = retry::decode_delivery(record);
                       delivery && delivery->place) {
                named = true;
                places_.try_emplace(delivery->place->name);
            }
            return log::Next::go_on;
        };
        const auto read = log::read_range(log_, where, range, sink, timeout_);
        if (!read) return core::fail(read.error());
        if (named) ranges_.emplace(where, range);
        return {};
    }
    core::Result<void> find(core::Partition partitions) {
        if (places_.empty()) return {};
        for (core::Partition p = 0; p < partitions; ++p) {
            const auto sink = [&](const core::RecordView& record) {
                const auto event = retry::decode_event_name(record);
                if (!event) return;
                const auto name = retry::event_name(retry::scope_of(*event), event->id);
                const auto found = places_.find(name);
                if (found == places_.end() || found->second) return;
                found->second = Place{p, record.offset};
            };
            const auto read = log::read_partition(log_, {Topic::kEvents, p}, sink, timeout_);
            if (!read) return read;
        }
        return {};
    }
    void print(std::ostream& out) const {
        if (places_.empty()) return;
        const auto missing =
            std::ranges::count_if(places_, [](const auto& one) { return !one.second.has_value(); });
        out << "deliveries and dead letters that name " << places_.size()
            << (places_.size() == 1 ? " event by its offset" : " events by their offsets")
            << " are written anew";
        if (missing > 0) out << "; the copy does not have " << missing << " of these events";
        out << '\n';
    }
    /// Errors: those of Publisher; a call that fails may be made again.
    core::Result<void> rewrite() const {
        log::BlockingExecutor executor;
        const auto publisher = log_.open_publisher(executor);
        for (const auto& [where, range] : ranges_) {
            const auto written = rewrite(*publisher, executor, where, range);
            if (!written) return written;
        }
        return {};
    }

    /// Whether rewrite() writes all that waits in this partition.
    bool rewrites(log::TopicPartition where) const { return ranges_.contains(where); }

private:
    using Place = std::pair<core::Partition, core::Offset>;
    core::Result<void> rewrite(log::Publisher& publisher, log::BlockingExecutor& executor,
                               TopicPartition where, const log::Range& range) const {
        std::optional<core::Error> failed;
        const auto written = [&](std::size_t unanswered) -> core::Result<void> {
            const auto until = core::SystemClock{}.mono() + timeout_;
            if (!executor.wait_until([&] { return publisher.unanswered() <= unanswered; }, until)) {
                return core::fail(core::Fault::timed_out,
                                  where.topic.name() + " was not written in time");
            }
            if (failed) return core::fail(*failed);
            return {};
        };
        auto going = core::Result<void>{};
        const auto sink = [&](const core::RecordView& record) {
            for (auto& [to, one] : again(where, record)) {
                publisher.publish(to, std::move(one), [&failed](const auto& at) {
                    if (!at && !failed) failed = at.error();
                });
            }
            going = written(kRewritesUnansweredMax);
            return going ? log::Next::go_on : log::Next::stop;
        };
        const auto read = log::read_range(log_, where, range, sink, timeout_);
        if (!read) return core::fail(read.error());
        return going ? written(0) : going;
    }
    /// The records that take the place of this one. One that cannot be read becomes the dead letter
    /// that its home would make of it.
    std::vector<std::pair<log::TopicPartition, core::Record>> again(
        TopicPartition where, const core::RecordView& record) const {
        const bool letters = where.topic == Topic::kRetryDead;
        if (core::is_control_key(record.key)) return {};
        auto delivery = retry::decode_delivery(record);
        if (!delivery) {
            if (letters) return {};  // it stays
            return {{{Topic::kRetryDead, where.partition},
                     retry::encode_dead(retry::unreadable(where.topic.name(), where.partition,
                                                          record, delivery.error()))}};
        }
        if (letters) {
            const auto settled = settled_.find(delivery->id);
            if (settled != settled_.end() && settled->second >= delivery->hop) return {};
            if (!delivery->place) return {};
        }
        if (delivery->place) {
            const auto& found = places_.at(delivery->place->name);
            if (found) {
                delivery->place->partition = found->first;
                delivery->place->offset = found->second;
            }
        }
        ++delivery->hop;
        return {{where, letters ? retry::encode_dead(*delivery) : retry::encode(*delivery)}};
    }

    log::EventLog& log_;
    const std::chrono::milliseconds timeout_;
    std::map<log::TopicPartition, log::Range> ranges_;  ///< that have a named event
    /// The place of each event that is named, by its name; nullopt: not found.
    std::unordered_map<std::string, std::optional<Place>> places_;
    std::unordered_map<std::string, std::uint32_t> settled_;  ///< hop, by delivery
};

/// The records of one topic that are taken again, over all partitions.
struct Again {
    Offset records = 0;
    Partition from_the_beginning = 0;  ///< partitions of which the copy has no committed offset
};

/// The newest `done` record of each partition, as the first cluster wrote it.
core::Result<std::map<Partition, DoneRecord>> done_records(log::EventLog& log, Partition partitions,
                                                           std::chrono::milliseconds timeout) {
    std::map<Partition, DoneRecord> newest;
    for (Partition partition = 0; partition < partitions; ++partition) {
        const auto read = log::read_partition(
            log, {Topic::kRetryDone, partition},
            [&](const core::RecordView& record) {
                auto done = retry::decode_done(record);
                if (!done || done->partition != partition) return;
                const auto known = newest.find(partition);
                if (known == newest.end() || done->epoch >= known->second.epoch) {
                    newest.insert_or_assign(partition, std::move(*done));
                }
            },
            timeout);
        if (!read) return core::fail(read.error());
    }
    return newest;
}

class Adoption {
public:
    Adoption(log::EventLog& log, const log::Control& control, std::chrono::milliseconds timeout)
        : log_(log), control_(control), timeout_(timeout) {}

    /// Reads what is there, and works out the records with offsets of this cluster.
    core::Result<void> plan() {
        auto done = done_records(log_, control_.partitions, timeout_);
        if (!done) return core::fail(done.error());
        done_ = std::move(*done);
        const auto all = partitions_with_offsets();
        auto ends = log::ends_of(log_, all, timeout_);
        if (!ends) return core::fail(ends.error());
        ends_ = std::move(*ends);
        const auto committed = log::committed_offsets(log_, kGroup, all, timeout_);
        if (!committed) return core::fail(committed.error());
        for (const auto& one : *committed) committed_[one.where] = one.offset;
        for (auto& [partition, record] : done_) translate(record);
        return find_named_events();
    }

    void print(std::ostream& out) const {
        for (const auto& [topic, again] : again_) {
            out << topic.name() << ": " << again.records << " records are taken again at most";
            if (again.from_the_beginning > 0) {
                out << "; " << again.from_the_beginning << " of " << done_.size()
                    << " partitions from their beginning, since the copy has no offset of the "
                       "group "
                    << kGroup << " there";
            }
            out << '\n';
        }
        named_.print(out);
    }

    core::Result<void> write() const {
        if (const auto written = named_.rewrite(); !written) return written;
        for (const auto& [partition, record] : done_) {
            const auto written =
                publish_one(log_, {Topic::kRetryDone, partition}, retry::encode(record), timeout_);
            if (!written) return written;
        }
        return {};
    }

private:
    std::vector<TopicPartition> partitions_with_offsets() const {
        std::vector<TopicPartition> all;
        for (const auto& [partition, record] : done_) {
            all.push_back({Topic::kEvents, partition});
            all.push_back({Topic::kRetryDead, partition});
            for (const auto& [tier, state] : record.tiers) {
                all.push_back({Topic::retry(tier), partition});
            }
        }
        return all;
    }

    /// Everything below was finished; never more than that, so that nothing is passed over.
    Offset finished_below(TopicPartition where) {
        const auto found = ends_.find(where);
        const auto ends = found == ends_.end() ? log::Ends{} : found->second;
        auto& again = again_[where.topic];
        const auto committed = committed_.find(where);
        if (committed == committed_.end()) {
            again.from_the_beginning += ends.end > ends.start ? 1 : 0;
            again.records += ends.end - ends.start;
            return ends.start;
        }
        const auto next = std::clamp(committed->second, ends.start, ends.end);
        again.records += ends.end - next;
        return next;
    }

    void translate(DoneRecord& record) {
        const auto partition = record.partition;
        record.events_next = finished_below({Topic::kEvents, partition});
        record.dead_scan = ends_[{Topic::kRetryDead, partition}].end;
        for (auto& [tier, state] : record.tiers) {
            const auto low = finished_below({Topic::retry(tier), partition});
            state = {.finished = {.low = low, .above = {}}, .scan = low};
        }
    }

    /// Deliveries that wait and name their event are written anew: all before them are finished.
    core::Result<void> find_named_events() {
        for (auto& [partition, record] : done_) {
            const TopicPartition letters{Topic::kRetryDead, partition};
            const auto dead = ends_[letters];
            if (const auto read = named_.add(letters, {dead.start, dead.end}); !read) return read;
            for (auto& [tier, state] : record.tiers) {
                const TopicPartition where{Topic::retry(tier), partition};
                const auto end = ends_[where].end;
                const auto read = named_.add(where, {state.finished.low, end});
                if (!read) return read;
                if (named_.rewrites(where))
                    state = {.finished = {.low = end, .above = {}}, .scan = end};
            }
        }
        return named_.find(control_.partitions);
    }

    log::EventLog& log_;
    const log::Control& control_;
    const std::chrono::milliseconds timeout_;
    std::map<Partition, DoneRecord> done_;
    std::map<TopicPartition, log::Ends> ends_;
    std::map<TopicPartition, Offset> committed_;
    std::map<Topic, Again> again_;
    NamedEvents named_{log_, timeout_};
};

/// With topics that would keep a role from starting nothing is adopted.
core::Result<void> check_layout(log::TopicsAdmin& admin, const log::Control& control,
                                const TopicsToolOptions& options) {
    const auto layout = app::layout_of(options.layout, control);
    const auto checked = log::check_topics(admin, log::topic_table(layout));
    if (!checked) return core::fail(checked.error());
    return {};
}

}  // namespace

core::Result<void> adopt_topics(log::TopicsAdmin& admin, log::EventLog& log,
                                const TopicsToolOptions& options, std::ostream& out) {
    const auto read = log::read_control(log, options.timeout);
    if (!read) {
        if (read.error().fault != Fault::not_found) return core::fail(read.error());
        return core::fail(Fault::not_found, "no copy of log topics with the prefix " +
                                                options.prefix +
                                                " is here: " + read.error().message);
    }
    const auto cluster = admin.cluster_id();
    if (!cluster) return core::fail(cluster.error());
    if (*cluster == read->cluster || cluster->empty()) {
        out << "the log " << read->log_id << " was made here: there is nothing to adopt\n";
        return {};
    }
    if (const auto checked = check_layout(admin, *read, options); !checked) return checked;
    Adoption adoption{log, *read, options.timeout};
    if (const auto planned = adoption.plan(); !planned) return planned;
    out << "a copy of the log " << read->log_id << " of the Kafka cluster "
        << (read->cluster.empty() ? "(not recorded)" : read->cluster) << ", at the cluster "
        << *cluster << '\n';
    adoption.print(out);
    if (options.dry_run) {
        out << "dry run: nothing was changed\n";
        return {};
    }
    if (const auto written = adoption.write(); !written) return written;
    // Last: until then every role refuses the copy, and a second call begins anew.
    auto control = *read;
    control.log_id = core::to_hex(core::random_uuid4());
    control.cluster = *cluster;
    const auto written = log::write_control(log, control, *read, options.timeout);
    if (!written) return written;
    out << "it is the log " << control.log_id
        << " now: roles can start here, with empty data directories or old ones, which are set "
           "aside\n";
    return {};
}

}  // namespace beckon::tools
