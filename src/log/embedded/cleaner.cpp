#include "log/embedded/cleaner.hpp"

#include "core/logger.hpp"
#include "core/pause.hpp"
#include "core/time_guard.hpp"
#include "log/embedded/storage.hpp"
#include "log/topics_admin.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <pthread.h>

namespace beckon::log::embedded {

using core::Duration;
using core::Fault;
using core::Offset;
using core::Result;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kStepRecords = 2'000;
/// Pause after a step, in lengths of that step: the cleaner takes a fifth of a processor at most.
constexpr int kPausePerStep = 4;
constexpr Duration kPauseBetweenRounds = std::chrono::seconds{10};
constexpr Duration kPauseAfterFailure = std::chrono::seconds{5};

std::string latest_key(TopicPartition where, const std::string& key) {
    return partition_key(where) + key;
}

std::optional<Duration> duration_setting(const TopicSpec& spec, const std::string& name) {
    const auto found = spec.settings.find(name);
    if (found == spec.settings.end()) return std::nullopt;
    return milliseconds{std::atoll(found->second.c_str())};
}

}  // namespace

std::vector<CleanPolicy> clean_policies(const EmbeddedConfig& config) {
    LayoutOptions layout;
    layout.partitions = config.partitions;
    layout.replication_factor = 1;
    layout.tiers.resize(Topic::kTiersMax);
    layout.history_window = config.history_window;
    layout.max_ttl = config.max_ttl;
    std::vector<CleanPolicy> policies(Topic::kCount);
    for (const auto& spec : topic_table(layout)) {
        const auto& kinds = spec.settings.at("cleanup.policy");
        auto& policy = policies[static_cast<std::size_t>(spec.topic.index())];
        policy.compact = kinds.find("compact") != std::string::npos;
        policy.lag = duration_setting(spec, "min.compaction.lag.ms").value_or(Duration::zero());
        if (kinds.find("delete") != std::string::npos) {
            policy.retention = duration_setting(spec, "retention.ms");
        }
    }
    return policies;
}

Cleaner::Cleaner(const EmbeddedConfig& config, Storage& storage, Partitions& partitions,
                 LogTime& time)
    : config_(config),
      storage_(storage),
      partitions_(partitions),
      policies_(clean_policies(config)),
      time_(time) {
    const std::string all(1, meta::kCleaner);
    const auto read = storage_.scan(
        Family::meta, all, meta::after(all), [this](std::string_view key, std::string_view value) {
            const auto where = parse_partition_key(key.substr(1));
            if (where && value.size() == 16) {
                walks_[*where] = {meta::to_offset(value), meta::to_offset(value.substr(8))};
            }
            return true;
        });
    if (!read) throw std::runtime_error("cannot read the cleaner's state: " + read.error().message);
    thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
    pthread_setname_np(thread_.native_handle(), "log-cleaner");
}

Cleaner::~Cleaner() {
    thread_.request_stop();
    thread_.join();
}

void Cleaner::run(const std::stop_token& stop) {
    while (core::pause(stop, kPauseBetweenRounds)) {
        for (auto* partition : partitions_.in_use()) {
            for (bool more = true; more;) {
                const auto began = config_.clock->mono();
                const auto cleaned = clean_some(*partition);
                more = cleaned && *cleaned;
                if (!cleaned) {
                    core::log_warn("log", "not_cleaned", {{"error", cleaned.error().message}});
                }
                const auto length =
                    cleaned ? (config_.clock->mono() - began) * kPausePerStep : kPauseAfterFailure;
                if (!core::pause(stop, length)) return;
            }
        }
    }
}

Result<void> Cleaner::clean_now() {
    for (auto* partition : partitions_.in_use()) {
        for (bool more = true; more;) {
            const auto cleaned = clean_some(*partition);
            if (!cleaned) return core::fail(cleaned.error());
            more = *cleaned;
        }
    }
    return {};
}

/// One step of each kind; true if there is more to do.
Result<bool> Cleaner::clean_some(Partition& partition) {
    const std::scoped_lock lock{mutex_};
    const auto& policy = policies_[static_cast<std::size_t>(partition.where().topic.index())];
    bool more = false;
    for (const auto step : {&Cleaner::index_some, &Cleaner::drop_some, &Cleaner::expire_some}) {
        auto stepped = (this->*step)(partition, policy);
        if (!stepped) return stepped;
        more |= *stepped;
    }
    return more;
}

Result<bool> Cleaner::index_some(Partition& partition, const CleanPolicy& policy) {
    if (!policy.compact) return false;
    const auto where = partition.where();
    auto walks = walks_[where];
    const auto step = walk(where, walks.indexed, partition.ends().end,
                           now() - std::chrono::duration_cast<milliseconds>(policy.lag));
    if (!step) return core::fail(step.error());
    if (step->end == walks.indexed) return false;

    // Most messages meet their tombstone within the step and never come to the index themselves.
    std::unordered_map<std::string_view, Offset> newest;
    std::vector<Offset> superseded;
    for (const auto& record : step->records) {
        const auto [entry, first] = newest.try_emplace(record.key, record.offset);
        if (!first) superseded.push_back(std::exchange(entry->second, record.offset));
    }
    for (const auto& [key, offset] : newest) {
        const auto before = latest_of(where, std::string{key});
        if (!before) return core::fail(before.error());
        // The index may know this very record already: a write that reported an error and yet
        // survived is walked over again.
        if (*before && **before < offset) superseded.push_back(**before);
    }
    walks.indexed = step->end;
    const auto written = storage_.write(batch_, false, [&](Batch& batch) {
        for (const auto offset : superseded)
            batch.erase(Family::records, record_key(where, offset));
        for (const auto& [key, offset] : newest) {
            batch.put(Family::latest, latest_key(where, std::string{key}), meta::number(offset));
        }
        save(batch, where, walks);
    });
    if (!written) return core::fail(written.error());
    walks_[where] = walks;
    return step->more;
}

/// Tombstones that every copy must have read by now.
Result<bool> Cleaner::drop_some(Partition& partition, const CleanPolicy& policy) {
    if (!policy.compact) return false;
    const auto where = partition.where();
    auto walks = walks_[where];
    const auto age = std::max<Duration>(policy.lag, config_.delete_retention);
    const auto end = partition.ends().end;
    const auto step = walk(where, walks.dropped, walks.indexed,
                           now() - std::chrono::duration_cast<milliseconds>(age));
    if (!step) return core::fail(step.error());
    if (step->end == walks.dropped) return false;

    std::vector<const Passed*> gone;
    for (const auto& record : step->records) {
        if (!record.tombstone) continue;
        const auto latest = latest_of(where, record.key);
        if (!latest) return core::fail(latest.error());
        if (*latest == record.offset) gone.push_back(&record);
    }
    walks.dropped = step->end;
    const auto written = storage_.write(batch_, false, [&](Batch& batch) {
        // One of them may be the newest record, by which a start after a kill finds the end.
        if (!gone.empty()) batch.put(Family::meta, meta::key(meta::kEnd, where), meta::number(end));
        for (const auto* record : gone) {
            batch.erase(Family::records, record_key(where, record->offset));
            batch.erase(Family::latest, latest_key(where, record->key));
        }
        save(batch, where, walks);
    });
    if (!written) return core::fail(written.error());
    walks_[where] = walks;
    return step->more;
}

/// Erases records older than the topic's retention.
Result<bool> Cleaner::expire_some(Partition& partition, const CleanPolicy& policy) {
    if (!policy.retention) return false;
    const auto where = partition.where();
    const auto ends = partition.ends();
    const auto step = walk(where, ends.start, ends.end,
                           now() - std::chrono::duration_cast<milliseconds>(*policy.retention));
    if (!step) return core::fail(step.error());
    if (step->records.empty()) return false;
    std::vector<std::string> stale;  // entries of the index that point to erased records
    for (const auto& record : step->records) {
        const auto latest = latest_of(where, record.key);
        if (!latest) return core::fail(latest.error());
        if (*latest == record.offset) stale.push_back(latest_key(where, record.key));
    }
    const auto written = storage_.write(batch_, false, [&](Batch& batch) {
        for (const auto& record : step->records) {
            batch.erase(Family::records, record_key(where, record.offset));
        }
        batch.put(Family::meta, meta::key(meta::kStart, where), meta::number(step->end));
        for (const auto& key : stale) batch.erase(Family::latest, key);
    });
    if (!written) return core::fail(written.error());
    partition.set_start(step->end);
    return step->more;
}

/// Reads the records of [from, to) up to the first one younger than `not_after`.
Result<Cleaner::Step> Cleaner::walk(TopicPartition where, Offset from, Offset to,
                                    core::Timestamp not_after) const {
    Step step;
    step.end = from;
    if (from >= to) return step;
    bool damaged = false;
    bool whole = true;
    const auto read = storage_.scan(
        Family::records, record_key(where, from), record_key(where, to),
        [&](std::string_view key, std::string_view value) {
            const auto body =
                value.size() < kTimeBytes ? std::nullopt : decode_key(value.substr(kTimeBytes));
            damaged = !body;
            if (damaged) return false;
            whole = decode_time(value) <= not_after;
            if (!whole) return false;
            step.more = step.records.size() == kStepRecords;
            if (step.more) return false;
            step.records.push_back({offset_of_key(key), std::string{body->key}, body->tombstone});
            return true;
        });
    if (!read) return core::fail(read.error());
    if (damaged) {
        return core::fail(Fault::corrupt, "a record of " + where.topic.name() + "/" +
                                              std::to_string(where.partition) + " does not decode");
    }
    if (!step.records.empty()) step.end = step.records.back().offset + 1;
    if (whole && !step.more) step.end = to;
    return step;
}

Result<std::optional<Offset>> Cleaner::latest_of(TopicPartition where,
                                                 const std::string& key) const {
    const auto value = storage_.get(Family::latest, latest_key(where, key));
    if (value) return std::optional{meta::to_offset(*value)};
    if (value.error().fault == Fault::not_found) return std::optional<Offset>{};
    return core::fail(value.error());
}

void Cleaner::save(Batch& batch, TopicPartition where, const Walks& walks) {
    batch.put(Family::meta, meta::key(meta::kCleaner, where),
              meta::number(walks.indexed) + meta::number(walks.dropped));
}

/// By both clocks: records that a wrong clock erases do not come back.
core::Timestamp Cleaner::now() const {
    return core::certainly_past(time_.now(), config_.clock->wall());
}

}  // namespace beckon::log::embedded
