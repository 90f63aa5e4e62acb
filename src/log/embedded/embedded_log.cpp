#include "log/embedded/embedded_log.hpp"

#include "core/assert.hpp"
#include "core/logger.hpp"
#include "core/setup_error.hpp"
#include "log/clock_ahead.hpp"
#include "log/embedded/cleaner.hpp"
#include "log/embedded/damage.hpp"
#include "log/embedded/group_offsets.hpp"
#include "log/embedded/log_time.hpp"
#include "log/embedded/meta_keys.hpp"
#include "log/embedded/publisher.hpp"
#include "log/embedded/reader.hpp"
#include "log/embedded/writer.hpp"
#include "log/local/membership.hpp"
#include "log/topics_admin.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace beckon::log {

using core::Fault;
using core::Offset;
using core::Result;

namespace embedded {

namespace {

constexpr int kFormat = 1;

[[noreturn]] void damaged(const EmbeddedConfig& config, const std::string& what) {
    throw core::SetupError("the log in " + config.directory.string() + " is damaged: " + what);
}

template <class T>
T must(const EmbeddedConfig& config, Result<T> result) {
    if (!result) {
        throw std::runtime_error("cannot open the log in " + config.directory.string() + ": " +
                                 result.error().message);
    }
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// The partitions of a log whose layout is "<format> <partitions>".
core::Partition partitions_in(const EmbeddedConfig& config, const std::string& layout) {
    int format = 0;
    core::Partition partitions = 0;
    const auto* const end = layout.data() + layout.size();
    const auto first = std::from_chars(layout.data(), end, format);
    const bool space = first.ptr != end && *first.ptr == ' ';
    if (!space || std::from_chars(first.ptr + 1, end, partitions).ec != std::errc{} ||
        partitions < 1) {
        damaged(config, "its layout reads '" + layout + "'");
    }
    if (format != kFormat) {
        throw core::SetupError("the log in " + config.directory.string() + " has format " +
                               std::to_string(format) + ", this build reads format " +
                               std::to_string(kFormat));
    }
    if (config.partitions != 0 && partitions != config.partitions) {
        throw core::SetupError("the log in " + config.directory.string() + " was made with " +
                               std::to_string(partitions) + " partitions, not with " +
                               std::to_string(config.partitions) +
                               ": the number is fixed when a log is made");
    }
    return partitions;
}

/// The partitions of the log in `storage`; of a new one those that are configured.
core::Partition partitions_of_log(const EmbeddedConfig& config, const Storage& storage) {
    const auto layout = storage.get(Family::meta, meta::kLayout);
    if (layout) return partitions_in(config, *layout);
    if (layout.error().fault != Fault::not_found) must(config, Result<std::string>{layout});
    // The first write of a log is its layout: without it a first start ended before that.
    if (!storage.is_empty()) damaged(config, "its layout is missing");
    return config.partitions == 0 ? kDefaultPartitions : config.partitions;
}

/// Reads back where each partition stands. After a clean stop that is its exact end. After a
/// process was killed it is known too, as long as the kernel that has its writes goes on: behind
/// the last record, and not below what the cleaner has noted or a group has committed. Otherwise it
/// is the end of the reserved block, above every offset that a reader can have seen.
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
        const std::string groups(1, meta::kGroup);
        must(config_, storage_.scan(Family::meta, groups, meta::after(groups),
                                    [&](std::string_view key, std::string_view value) {
                                        if (key.size() < kPartitionKeyBytes) return true;
                                        const auto where = parse_partition_key(
                                            key.substr(key.size() - kPartitionKeyBytes));
                                        if (!where || value.size() != 8) return true;
                                        auto& furthest = committed_[*where];
                                        furthest = std::max(furthest, meta::to_offset(value));
                                        return true;
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
        partition->next_offset = partition->reserved_end;
        if (end && clean) partition->next_offset = *end;
        if (end && !clean && same_boot_) {
            partition->next_offset =
                std::clamp(std::max({*end, behind_last, start, committed_[*where]}), Offset{0},
                           partition->reserved_end);
        }
        partition->restore({start, partition->next_offset});
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

class EmbeddedLogImpl final : public EmbeddedLog, public HasClock {
public:
    explicit EmbeddedLogImpl(const EmbeddedConfig& config)
        : config_(config),
          storage_(config_),
          partitions_(config_.partitions = partitions_of_log(config_, storage_)),
          membership_(*config_.clock) {
        const auto left = Restorer{config_, storage_, partitions_}.run();
        damage_ = noted_damage(config_.directory);
        for (const auto& line : damage_) {
            core::log_error("log", "log_damaged",
                            {{"directory", config_.directory.string()}, {"damage", line}});
        }
        time_ = std::make_unique<LogTime>(*config_.clock, config_.clock_is_disciplined,
                                          config_.boot_id, left, time_gaps());
        keep_time_gaps();
        writer_ = std::make_unique<Writer>(config_, storage_, partitions_, *time_);
        groups_ = std::make_unique<GroupOffsets>(storage_, *writer_);
        cleaner_ = std::make_unique<Cleaner>(config_, storage_, partitions_, *time_);
    }
    ~EmbeddedLogImpl() override {
        cleaner_.reset();
        writer_->stop();
    }

    core::Partition partitions() const override { return config_.partitions; }

    std::unique_ptr<Publisher> open_publisher(core::Executor& executor) override {
        return std::make_unique<EmbeddedPublisher>(config_, *writer_, partitions_, executor);
    }
    std::unique_ptr<PartitionReader> open_reader(TopicPartition where, Offset from,
                                                 core::Executor& executor,
                                                 std::function<void()> ready) override {
        return std::make_unique<EmbeddedReader>(storage_, partitions_.find(where), from, executor,
                                                std::move(ready));
    }
    void ends(TopicPartition where, core::Executor& executor,
              std::function<void(Result<Ends>)> done) override {
        const auto* const partition = partitions_.find(where);
        Result<Ends> answer = core::fail(Fault::not_found, "no such partition");
        if (partition) answer = partition->ends();
        executor.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
    }
    void commit(std::string group, std::vector<GroupOffset> offsets, core::Executor& executor,
                std::function<void(Result<void>)> done) override {
        groups_->commit(std::move(group), std::move(offsets), executor, std::move(done));
    }
    void committed(std::string group, std::vector<TopicPartition> partitions,
                   core::Executor& executor,
                   std::function<void(Result<std::vector<GroupOffset>>)> done) override {
        executor.post([done = std::move(done), answer = groups_->committed(group, partitions)] {
            done(answer);
        });
    }
    std::unique_ptr<Member> join(MemberOptions options, core::Executor& executor,
                                 std::function<void(const Members&)> changed) override {
        return membership_.join(std::move(options), executor, std::move(changed));
    }

    core::MissingTime missing_time() const override { return time_->missing(); }
    std::optional<core::Duration> clock_ahead() const override { return time_->clock_ahead(); }

    Result<void> clean_now() override { return cleaner_->clean_now(); }
    Result<void> truncate_before(TopicPartition where, Offset start) override {
        return cleaner_->truncate_before(where, start);
    }
    std::vector<std::string> damage() const override { return damage_; }
    Result<void> copy_to(const std::filesystem::path& directory) override {
        return storage_.copy_to(directory);
    }

private:
    std::vector<TimeGap> time_gaps() const {
        const auto bytes = storage_.get(Family::meta, meta::kTimeGaps);
        if (!bytes && bytes.error().fault == Fault::not_found) return {};
        auto gaps = parse_time_gaps(must(config_, Result<std::string>{bytes}));
        if (!gaps) damaged(config_, "its time gaps do not decode");
        return std::move(*gaps);
    }
    /// Before a record is written, whose clock reading replaces the one that a gap began with.
    void keep_time_gaps() {
        if (time_->gaps() == time_gaps()) return;
        Batch batch;
        must(config_, storage_.write(batch, true, [&](Batch& b) {
            b.put(Family::meta, meta::kTimeGaps, to_bytes(time_->gaps()));
        }));
    }

    EmbeddedConfig config_;            ///< with the partitions that the log has
    std::vector<std::string> damage_;  ///< constant after construction
    Storage storage_;
    Partitions partitions_;
    LocalMembership membership_;
    std::unique_ptr<LogTime> time_;
    std::unique_ptr<Writer> writer_;
    std::unique_ptr<GroupOffsets> groups_;
    std::unique_ptr<Cleaner> cleaner_;
};

}  // namespace

}  // namespace embedded

std::unique_ptr<EmbeddedLog> open_embedded_log(const EmbeddedConfig& config) {
    BECKON_ASSERT(config.clock != nullptr, "a log needs a clock");
    if (config.partitions < 0 || config.partitions > 65'535) {
        throw std::runtime_error("a log has at most 65,535 partitions, not " +
                                 std::to_string(config.partitions));
    }
    auto complete = config;
    if (!complete.memory) {
        complete.memory = std::make_shared<rocks::Memory>(EmbeddedConfig::kMemoryBytes,
                                                          EmbeddedConfig::kWriteBufferBytes);
    }
    return std::make_unique<embedded::EmbeddedLogImpl>(complete);
}

}  // namespace beckon::log
