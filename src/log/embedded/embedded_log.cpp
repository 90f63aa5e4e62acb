#include "log/embedded/embedded_log.hpp"

#include "core/assert.hpp"
#include "core/clock.hpp"
#include "core/contain.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "core/record.hpp"
#include "core/result.hpp"
#include "log/embedded/cleaner.hpp"
#include "log/embedded/damage.hpp"
#include "log/embedded/log_time.hpp"
#include "log/embedded/partitions.hpp"
#include "log/embedded/record_format.hpp"
#include "log/embedded/restore.hpp"
#include "log/embedded/storage.hpp"
#include "log/embedded/writer.hpp"
#include "log/event_log.hpp"
#include "log/local/membership.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::log {

namespace embedded {

using core::Fault;
using core::Offset;
using core::Result;

namespace {

constexpr std::string_view kPublisherAnswers = "log answers";

/// The embedded log's publisher: encodes on its own thread, queues for the writer, and keeps the
/// completions itself, oldest first, so that they run and die on the thread that made them.
///
/// A disk that hangs holds the writer up for as long as it likes. So the publisher watches the time
/// of its oldest publish and answers `unavailable` when that is over; the writer's own answer, if
/// it ever comes, is dropped.
class EmbeddedPublisher final : public Publisher {
public:
    EmbeddedPublisher(const EmbeddedConfig& config, Writer& writer, Partitions& partitions,
                      core::Executor& executor)
        : writer_(writer),
          partitions_(partitions),
          clock_(*config.clock),
          waiting_max_(config.waiting_max),
          timeout_(config.publish_timeout),
          lifetime_(executor),
          queue_(std::make_shared<AnswerQueue>(lifetime_.remote(), [this] { collect(); })) {}

    void publish(TopicPartition where, core::Record record, AppendDone done) override {
        auto* const partition = partitions_.find(where);
        if (!partition) {
            return refuse(std::move(done),
                          {Fault::not_found, "no such partition: " + where.topic.name() + "/" +
                                                 std::to_string(where.partition)});
        }
        if (size_of(record) > kRecordBytesMax) {
            return refuse(std::move(done),
                          {Fault::too_large,
                           "a record has at most " + std::to_string(kRecordBytesMax) + " bytes"});
        }
        if (waiting_.size() + given_up_ >= waiting_max_) {
            return refuse(std::move(done),
                          {Fault::full,
                           std::to_string(waiting_max_) + " publishes wait for the log already"});
        }
        const auto deadline = clock_.mono() + timeout_;
        auto body = encode_body(record);
        waiting_.push_back({std::move(done), deadline});
        try {
            writer_.submit({partition, std::move(body), queue_, deadline});
        } catch (...) {  // no memory: nothing was submitted, and no answer may be taken for its own
            waiting_.pop_back();
            throw;
        }
        watch_oldest();
    }
    std::size_t unanswered() const override { return waiting_.size(); }

private:
    struct Waiting {
        AppendDone done;
        core::MonoTime deadline;
    };

    void refuse(AppendDone done, core::Error error) {
        lifetime_.remote().post([done = std::move(done), error = std::move(error)] {
            const auto call = done;  // it may destroy this publisher, and with it nothing of ours
            call(core::fail(error));
        });
    }
    void collect() {
        AnswerQueue::Answers answers;
        answers.swap(answers_);
        queue_->take(answers);
        const auto term = lifetime_.term();
        for (const auto& answer : answers) {
            if (given_up_ > 0) {
                --given_up_;
                continue;
            }
            const auto done = take_oldest();
            core::contain(kPublisherAnswers, [&] { done(answer); });  // the others' answers follow
            if (term.over()) return;
        }
        answers_ = std::move(answers);  // its memory, for the next time
    }
    void watch_oldest() {
        if (waiting_.empty() || watching_) return;
        lifetime_.remote().post_after(waiting_.front().deadline - clock_.mono(), [this] {
            watching_ = false;
            give_up_overdue();
        });
        watching_ = true;
    }
    void give_up_overdue() {
        const auto term = lifetime_.term();
        const auto now = clock_.mono();
        while (!waiting_.empty() && waiting_.front().deadline <= now) {
            ++given_up_;
            const auto done = take_oldest();
            core::contain(kPublisherAnswers, [&] {
                done(core::fail(Fault::unavailable,
                                "the log's disk did not answer within publish_timeout"));
            });
            if (term.over()) return;
        }
        watch_oldest();
    }
    AppendDone take_oldest() {
        auto done = std::move(waiting_.front().done);
        waiting_.pop_front();
        return done;
    }

    Writer& writer_;
    Partitions& partitions_;
    const core::Clock& clock_;
    const std::size_t waiting_max_;
    const core::Duration timeout_;

    core::Lifetime lifetime_;
    const std::shared_ptr<AnswerQueue> queue_;
    std::deque<Waiting> waiting_;
    std::size_t given_up_ = 0;  ///< publishes answered here that the writer has still to answer
    bool watching_ = false;     ///< a timer for the oldest runs
    AnswerQueue::Answers answers_;
};

/// One piece from disk: enough to make the seek cheap, little enough to hold for each reader and to
/// keep a loop waiting for.
constexpr std::size_t kPieceRecords = 512;
constexpr std::size_t kPieceBytes = 128U << 10;
/// After a read that failed. Nothing else notifies it when the disk can be read again.
constexpr core::Duration kReadAgain = std::chrono::milliseconds{200};

/// A cursor over chunks: near the end the chunks that the writer keeps in memory, further back
/// chunks that it reads from the disk itself, a bounded piece at a time. It holds on to one chunk
/// at most.
class EmbeddedReader final : public PartitionReader {
public:
    /// `partition` null: there is no such partition.
    EmbeddedReader(const Storage& storage, Partition* partition, Offset from,
                   core::Executor& executor, std::function<void()> ready)
        : storage_(storage),
          partition_(partition),
          lifetime_(executor),
          waiter_(std::make_shared<Waiter>(Waiter{.reader = lifetime_.remote(),
                                                  .ready =
                                                      [ready = std::move(ready)] {
                                                          const auto call =
                                                              ready;  // may destroy this reader
                                                          call();
                                                      }})),
          position_(std::max<Offset>(from, 0)) {
        if (!partition_) {
            useless_ = core::Error{Fault::not_found, "no such partition"};
        } else {
            const auto ends = partition_->ends();
            position_ = std::max(position_, ends.start);
            if (position_ > ends.end) {
                useless_ = core::Error{Fault::out_of_range, "offset " + std::to_string(from) +
                                                                " is above the end " +
                                                                std::to_string(ends.end)};
            }
            partition_->add_reader(waiter_);
        }
        waiter_->reader.post(waiter_->ready);
    }
    ~EmbeddedReader() override {
        lifetime_.end();
        if (partition_) partition_->remove_reader(waiter_);
    }

    core::Result<Taken> take(std::size_t max, const RecordSink& sink) override {
        if (useless_) return core::fail(*useless_);
        Taken taken;
        for (;;) {
            if (paused_) return taken;  // by the sink
            if (!chunk_) {
                const auto advanced = advance(taken.drained);
                if (!advanced && taken.records > 0) return taken;  // returned by the next call
                if (!advanced) return core::fail(advanced.error());
                if (taken.drained) return taken;
            }
            if (taken.records >= max) return taken;
            if (!deliver(sink)) {
                useless_ =
                    core::Error{Fault::corrupt, "the record at offset " +
                                                    std::to_string(chunk_->entries[index_].offset) +
                                                    " does not decode"};
                return core::fail(*useless_);
            }
            ++taken.records;
        }
    }
    core::Offset position() const override { return position_; }
    void pause() override {
        paused_ = true;
        chunk_.reset();
        if (paces_) partition_->set_pacing(*waiter_, false);
    }
    void resume() override {
        if (!std::exchange(paused_, false)) return;
        if (paces_) partition_->set_pacing(*waiter_, true);
        waiter_->reader.post(waiter_->ready);
    }
    void applies_backpressure() override {
        if (!partition_ || std::exchange(paces_, true)) return;
        partition_->set_pacing(*waiter_, !paused_);
    }

private:
    /// Finds the chunk with the next record, or that there is none.
    core::Result<void> advance(bool& drained) {
        for (;;) {
            auto next = partition_->next(position_, *waiter_);
            position_ = next.position;
            drained = next.drained;
            if (drained) return {};
            chunk_ = std::move(next.chunk);
            if (!chunk_) {
                auto piece = read_from_disk(next.disk_until);
                if (!piece) {
                    call_again_soon();
                    return core::fail(piece.error());
                }
                chunk_ = std::move(*piece);
                if (!chunk_) position_ = next.disk_until;  // all of it was compacted away
            }
            if (chunk_) {
                index_ = chunk_->index_of(position_);
                return {};
            }
        }
    }
    core::Result<ChunkPtr> read_from_disk(Offset until) const {
        const auto where = partition_->where();
        auto piece = std::make_shared<Chunk>();
        bool damaged = false;
        const auto read = storage_.scan(
            Family::records, record_key(where, position_), record_key(where, until),
            [&](std::string_view key, std::string_view value) {
                damaged = value.size() < kTimeBytes;
                if (damaged) return false;
                piece->add(offset_of_key(key), decode_time(value),
                           std::string{value.substr(kTimeBytes)});
                return piece->entries.size() < kPieceRecords && piece->bytes < kPieceBytes;
            });
        if (!read) return core::fail(read.error());
        if (damaged) return core::fail(Fault::corrupt, "a record on disk is too short");
        if (piece->entries.empty()) return ChunkPtr{};
        return ChunkPtr{std::move(piece)};
    }
    bool deliver(const RecordSink& sink) {
        const auto& entry = chunk_->entries[index_];
        core::RecordView view;
        view.offset = entry.offset;
        view.time = entry.time;
        if (!decode_body(entry.body, view, headers_)) return false;
        // Moved first: the sink may ask for the position, or pause and so drop the chunk.
        const auto keep = chunk_;
        position_ = entry.offset + 1;
        if (++index_ == chunk_->entries.size()) chunk_.reset();
        sink(view);
        return true;
    }
    void call_again_soon() {
        if (calls_soon_) return;
        waiter_->reader.post_after(kReadAgain, [this] {
            calls_soon_ = false;
            const auto call = waiter_->ready;  // may destroy this reader
            call();
        });
        calls_soon_ = true;
    }

    const Storage& storage_;
    Partition* const partition_;
    core::Lifetime lifetime_;
    const std::shared_ptr<Waiter> waiter_;
    std::optional<core::Error> useless_;
    core::Offset position_;
    ChunkPtr chunk_;  ///< null, or holds the next record at index_
    std::size_t index_ = 0;
    bool paused_ = false;
    bool paces_ = false;
    bool calls_soon_ = false;                ///< a timer runs after which `ready` is called
    std::vector<core::HeaderView> headers_;  ///< scratch
};

std::string offset_key(const std::string& group, TopicPartition where) {
    return meta::kGroup + group + '\0' + partition_key(where);
}

/// The offsets that groups committed: in memory for looking up, in `meta` for the next start.
/// Thread-safe.
class GroupOffsets {
public:
    GroupOffsets(const Storage& storage, Writer& writer) : writer_(writer) {
        const auto read = for_each_group_offset(
            storage, [this](const std::string& group, TopicPartition where, Offset offset) {
                groups_[group][where] = offset;
            });
        if (!read)
            throw std::runtime_error("cannot read the group offsets: " + read.error().message);
    }

    void commit(std::string group, std::vector<GroupOffset> offsets, core::Executor& executor,
                std::function<void(core::Result<void>)> done) {
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
    std::vector<GroupOffset> committed(const std::string& group,
                                       const std::vector<TopicPartition>& partitions) const {
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

private:
    Writer& writer_;
    mutable std::mutex mutex_;
    std::map<std::string, std::map<TopicPartition, core::Offset>> groups_;
};

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
