#include "log/embedded/embedded_log.hpp"

#include "core/assert.hpp"
#include "core/logger.hpp"
#include "log/embedded/cleaner.hpp"
#include "log/embedded/damage.hpp"
#include "log/embedded/log_time.hpp"
#include "log/embedded/partitions.hpp"
#include "log/embedded/publisher.hpp"
#include "log/embedded/reader.hpp"
#include "log/embedded/record_format.hpp"
#include "log/embedded/restore.hpp"
#include "log/embedded/storage.hpp"
#include "log/embedded/writer.hpp"
#include "log/local/membership.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace beckon::log {

namespace embedded {

using core::Fault;
using core::Offset;
using core::Result;

/// The offsets that groups committed: in memory for looking up, in `meta` for the next start.
/// Thread-safe.
class GroupOffsets {
public:
    GroupOffsets(const Storage& storage, Writer& writer);

    void commit(std::string group, std::vector<GroupOffset> offsets, core::Executor& executor,
                std::function<void(core::Result<void>)> done);
    std::vector<GroupOffset> committed(const std::string& group,
                                       const std::vector<TopicPartition>& partitions) const;

private:
    Writer& writer_;
    mutable std::mutex mutex_;
    std::map<std::string, std::map<TopicPartition, core::Offset>> groups_;
};

namespace {

std::string offset_key(const std::string& group, TopicPartition where) {
    return meta::kGroup + group + '\0' + partition_key(where);
}

}  // namespace

GroupOffsets::GroupOffsets(const Storage& storage, Writer& writer) : writer_(writer) {
    const auto read =
        for_each_group_offset(storage, [this](const std::string& group, TopicPartition where,
                                              Offset offset) { groups_[group][where] = offset; });
    if (!read) throw std::runtime_error("cannot read the group offsets: " + read.error().message);
}

void GroupOffsets::commit(std::string group, std::vector<GroupOffset> offsets,
                          core::Executor& executor, std::function<void(core::Result<void>)> done) {
    Writer::MetaWrite write;
    for (const auto& o : offsets) {
        write.pairs.emplace_back(offset_key(group, o.where), meta::number(o.offset));
    }
    write.done = [this, group = std::move(group), offsets = std::move(offsets), &executor,
                  done](const core::Result<void>& written) {
        if (written) {
            const std::scoped_lock lock{mutex_};
            for (const auto& o : offsets) groups_[group][o.where] = o.offset;
        }
        executor.post([done, written] { done(written); });
    };
    if (writer_.submit(std::move(write))) return;
    executor.post([done = std::move(done)] {
        done(core::fail(core::Fault::full, "too many commits wait for the log already"));
    });
}

std::vector<GroupOffset> GroupOffsets::committed(
    const std::string& group, const std::vector<TopicPartition>& partitions) const {
    const std::scoped_lock lock{mutex_};
    std::vector<GroupOffset> found;
    const auto offsets = groups_.find(group);
    if (offsets == groups_.end()) return found;
    for (const auto& where : partitions) {
        const auto at = offsets->second.find(where);
        if (at != offsets->second.end()) found.push_back({where, at->second});
    }
    return found;
}

namespace {

class EmbeddedLogImpl final : public EmbeddedLog {
public:
    explicit EmbeddedLogImpl(const EmbeddedConfig& config)
        : config_(config),
          storage_(config_),
          partitions_(config_.partitions = partitions_of_log(config_, storage_)),
          membership_(*config_.clock) {
        const auto left = restore(config_, storage_, partitions_);
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
    void is_made_anew(TopicPartition where, ReadUpTo read, core::Executor& executor,
                      std::function<void(Result<bool>)> done) override {
        const auto* const partition = partitions_.find(where);
        Result<bool> answer = core::fail(Fault::not_found, "no such partition");
        if (partition) answer = partition->has_lost(read.next);
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
