#include "log/embedded/restore.hpp"

#include "core/decimal.hpp"
#include "core/logger.hpp"
#include "core/setup_error.hpp"
#include "log/embedded/record_format.hpp"
#include "log/topics_admin.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace beckon::log::embedded {

using core::Fault;
using core::Offset;
using core::Result;

namespace {

constexpr int kFormat = 1;

/// The partitions of a log whose layout is "<format> <partitions>".
core::Partition partitions_in(const EmbeddedConfig& config, const std::string& layout) {
    const std::string_view text{layout};
    const auto blank = std::min(text.find(' '), text.size());
    const auto format = core::parse_decimal<int>(text.substr(0, blank));
    const auto partitions =
        core::parse_decimal<core::Partition>(text.substr(std::min(blank + 1, text.size())));
    if (!format || partitions.value_or(0) < 1) {
        damaged(config, "its layout reads '" + layout + "'");
    }
    if (*format != kFormat) {
        throw core::SetupError("the log in " + config.directory.string() + " has format " +
                               std::to_string(*format) + ", this build reads format " +
                               std::to_string(kFormat));
    }
    if (config.partitions != 0 && *partitions != config.partitions) {
        throw core::SetupError("the log in " + config.directory.string() + " was made with " +
                               std::to_string(*partitions) + " partitions, not with " +
                               std::to_string(config.partitions) +
                               ": the number is fixed when a log is made");
    }
    return *partitions;
}

class Restorer {
public:
    Restorer(const EmbeddedConfig& config, Storage& storage, Partitions& partitions)
        : config_(config), storage_(storage), partitions_(partitions) {}

    /// Where the log's time stood.
    std::optional<ClockReading> run() {
        const auto boot = storage_.get(Family::meta, meta::kBoot);
        same_boot_ =
            boot && !config_.boot_id.empty() && *boot == config_.boot_id && !storage_.is_copy();
        if (storage_.get(Family::meta, meta::kLayout)) restore_partitions();
        begin_unclean();
        return time_left();
    }

private:
    void restore_partitions() {
        const bool clean = storage_.get(Family::meta, meta::kClean).has_value();
        if (!clean) core::log_info("log", "unclean_stop_recovered");
        if (same_boot_ && !clean) read_committed();
        const std::string blocks(1, meta::kBlock);
        must(config_, storage_.scan(Family::meta, blocks, meta::after(blocks),
                                    [&](std::string_view key, std::string_view value) {
                                        restore(key.substr(1), value, clean);
                                        return true;
                                    }));
    }

    /// How far any group has come: a record that is appended below that would be skipped by it.
    void read_committed() {
        must(config_, for_each_group_offset(
                          storage_, [&](const std::string&, TopicPartition where, Offset offset) {
                              auto& furthest = committed_[where];
                              furthest = std::max(furthest, offset);
                          }));
    }

    void restore(std::string_view partition_bytes, std::string_view block, bool clean) {
        const auto where = parse_partition_key(partition_bytes);
        auto* const partition = where ? partitions_.find(*where) : nullptr;
        if (!partition || block.size() != 8) damaged(config_, "a reserved block does not decode");
        partition->reserved_end = meta::to_offset(block);
        Offset behind_last = 0;
        must(config_, storage_.last(Family::records, record_key(*where, 0),
                                    record_key(*where, partition->reserved_end),
                                    [&](std::string_view key, std::string_view value) {
                                        if (value.size() < kTimeBytes) {
                                            damaged(config_, "a record is too short");
                                        }
                                        behind_last = offset_of_key(key) + 1;
                                        partition->newest = decode_time(value);
                                        newest_ = std::max(newest_, partition->newest);
                                        return false;
                                    }));
        const auto start = number(meta::kStart, *where).value_or(0);
        const auto end = number(meta::kEnd, *where);
        const auto known_end = std::max({end.value_or(0), behind_last, start});
        partition->next_offset = partition->reserved_end;
        if (end && clean) partition->next_offset = *end;
        if (end && !clean && same_boot_) {
            partition->next_offset = std::clamp(std::max(known_end, committed_[*where]), Offset{0},
                                                partition->reserved_end);
        }
        partition->restore({start, partition->next_offset},
                           clean || same_boot_ ? partition->next_offset : known_end);
    }

    std::optional<Offset> number(char kind, TopicPartition where) {
        const auto value = storage_.get(Family::meta, meta::key(kind, where));
        if (!value && value.error().fault == Fault::not_found) return std::nullopt;
        const auto bytes = must(config_, Result<std::string>{value});
        if (bytes.size() != 8) damaged(config_, "a number of its meta data does not decode");
        return meta::to_offset(bytes);
    }

    /// From here on the log counts as not cleanly stopped, even if the write-ahead log is lost.
    void begin_unclean() {
        Batch batch;
        must(config_, storage_.write(batch, true, [&](Batch& b) {
            b.put(Family::meta, meta::kLayout,
                  std::to_string(kFormat) + " " + std::to_string(config_.partitions));
            b.erase(Family::meta, meta::kClean);
            b.put(Family::meta, meta::kBoot, config_.boot_id);
            for (const auto* partition : partitions_.in_use()) {
                if (partition->reserved_end == 0) continue;
                b.put(Family::meta, meta::key(meta::kEnd, partition->where()),
                      meta::number(partition->next_offset));
            }
        }));
        must(config_, storage_.flush());
        storage_.forget_copy();
    }

    /// Without a reading that decodes, the clock that stamped the records is not trusted.
    std::optional<ClockReading> time_left() const {
        if (newest_ == core::Timestamp{}) return std::nullopt;
        const auto bytes = storage_.get(Family::meta, meta::kTime);
        const auto reading = bytes ? parse_clock_reading(*bytes) : std::nullopt;
        auto left = reading.value_or(ClockReading{.log = newest_, .wall = newest_});
        if (left.log < newest_) {
            left.mono += newest_ - left.log;
            left.wall += newest_ - left.log;
            left.log = newest_;
        }
        return left;
    }

    const EmbeddedConfig& config_;
    Storage& storage_;
    Partitions& partitions_;
    core::Timestamp newest_{};                    ///< of all records that are there
    bool same_boot_ = false;                      ///< as that in which the log was last opened
    std::map<TopicPartition, Offset> committed_;  ///< the furthest of all groups
};

}  // namespace

void damaged(const EmbeddedConfig& config, const std::string& what) {
    throw core::SetupError("the log in " + config.directory.string() + " is damaged: " + what);
}

core::Partition partitions_of_log(const EmbeddedConfig& config, const Storage& storage) {
    const auto layout = storage.get(Family::meta, meta::kLayout);
    if (layout) return partitions_in(config, *layout);
    if (layout.error().fault != Fault::not_found) must(config, Result<std::string>{layout});
    // The first write of a log is its layout: without it a first start ended before that.
    if (!storage.is_empty()) damaged(config, "its layout is missing");
    return config.partitions == 0 ? kDefaultPartitions : config.partitions;
}

Result<void> for_each_group_offset(const Storage& storage, const VisitGroupOffset& visit) {
    const std::string groups(1, meta::kGroup);
    return storage.scan(Family::meta, groups, meta::after(groups),
                        [&](std::string_view key, std::string_view value) {
                            if (key.size() < kPartitionKeyBytes + 2 || value.size() != 8)
                                return true;
                            const auto group_end = key.size() - kPartitionKeyBytes - 1;
                            const auto where = parse_partition_key(key.substr(group_end + 1));
                            if (where) {
                                visit(std::string{key.substr(1, group_end - 1)}, *where,
                                      meta::to_offset(value));
                            }
                            return true;
                        });
}

std::optional<ClockReading> restore(const EmbeddedConfig& config, Storage& storage,
                                    Partitions& partitions) {
    return Restorer{config, storage, partitions}.run();
}

}  // namespace beckon::log::embedded
