#include "log/embedded/writer.hpp"

#include "core/logger.hpp"
#include "log/embedded/storage.hpp"

#include <algorithm>
#include <utility>

#include <pthread.h>

namespace beckon::log::embedded {

using core::Error;
using core::Fault;
using core::Result;

namespace {

/// Limits of one batch, so that one sync does not keep the first record waiting for long, and a
/// reader that stands on a chunk holds little memory.
constexpr std::size_t kBatchBytesMax = 1U << 20;
constexpr core::Duration kRetryAfter = std::chrono::milliseconds{200};

}  // namespace

Writer::Writer(const EmbeddedConfig& config, Storage& storage, Partitions& partitions,
               LogTime& time)
    : config_(config), storage_(storage), partitions_(partitions), time_(time) {
    partitions_.pacing().on_room([this] {
        {
            const std::scoped_lock lock{mutex_};
        }  // the writer does not stand between check and wait
        wake_.notify_one();
    });
    thread_ = std::thread{[this] { run(); }};
    pthread_setname_np(thread_.native_handle(), "log-writer");
}

Writer::~Writer() { stop(); }

void Writer::submit(Publish publish) {
    bool wake = false;
    {
        const std::scoped_lock lock{mutex_};
        wake = queue_.publishes.empty() && queue_.meta.empty();
        queue_.publishes.push_back(std::move(publish));
    }
    if (wake) wake_.notify_one();
}

bool Writer::submit(MetaWrite write) {
    bool first = false;
    {
        const std::scoped_lock lock{mutex_};
        if (queue_.meta.size() >= kMetaWritesMax) return false;
        first = queue_.publishes.empty() && queue_.meta.empty();
        queue_.meta.push_back(std::move(write));
    }
    if (first) wake_.notify_one();
    return true;
}

void Writer::stop() {
    {
        const std::scoped_lock lock{mutex_};
        if (std::exchange(stopping_, true)) return;
    }
    wake_.notify_one();
    thread_.join();
    if (!failure_) record_clean_stop();
}

void Writer::run() {
    Work work;
    while (wait_for_work(work)) handle(work);
}

/// False when stopping and nothing is left.
bool Writer::wait_for_work(Work& work) {
    work.publishes.clear();
    work.meta.clear();
    std::unique_lock lock{mutex_};
    const auto something = [this] { return is_woken(); };
    if (!failure_) {
        wake_.wait(lock, something);
        wait_for_readers(lock);
    } else if (!wake_.wait_for(lock, kRetryAfter, something)) {
        return true;  // nothing to write, but a log to bring back
    }
    std::swap(work.publishes, queue_.publishes);
    std::swap(work.meta, queue_.meta);
    return !stopping_ || !work.publishes.empty() || !work.meta.empty();
}

/// Under mutex_.
bool Writer::is_woken() const {
    return stopping_ || !queue_.publishes.empty() || !queue_.meta.empty();
}

/// Other records wait with the puts: alone they would be a batch of their own.
void Writer::wait_for_readers(std::unique_lock<std::mutex>& lock) {
    auto& readers = partitions_.pacing();
    if (stopping_ || readers.have_room()) return;
    readers.await(true);
    wake_.wait_until(lock, last_written_ + kWaitMax,
                     [&] { return stopping_ || readers.have_room(); });
    readers.await(false);
}

void Writer::handle(Work& work) {
    const std::span publishes{work.publishes};
    std::span<const MetaWrite> meta{work.meta};
    std::size_t done = 0;
    do {
        done += answer_overdue(publishes.subspan(done));
        const auto slice = publishes.subspan(done, slice_of(publishes.subspan(done)));
        const auto written = write(slice, meta);
        for (const auto& m : meta) m.done(written);
        meta = {};
        answer(slice, written);
        done += slice.size();
        if (done < publishes.size() && !failure_) {
            std::unique_lock lock{mutex_};
            wait_for_readers(lock);
        }
    } while (done < publishes.size());
}

/// How many of these records the next batch has.
std::size_t Writer::slice_of(std::span<const Publish> publishes) const {
    // After a failure one record is enough to find out, and to erase if it fails as well.
    const auto count_max = failure_ ? 1 : kBatchRecordsMax;
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < publishes.size() && count < count_max &&
           (count == 0 || bytes < kBatchBytesMax)) {
        bytes += publishes[count].body.size();
        ++count;
    }
    return count;
}

/// Answers the first records, as far as their deadline passed while they waited for a disk that
/// hung. Records whose publisher no longer waits are not written.
std::size_t Writer::answer_overdue(std::span<const Publish> publishes) {
    const auto now = config_.clock->mono();
    const auto in_time = std::find_if(publishes.begin(), publishes.end(),
                                      [&](const Publish& p) { return p.deadline > now; });
    const auto count = static_cast<std::size_t>(in_time - publishes.begin());
    answer(publishes.first(count),
           core::fail(Fault::unavailable, "the log's disk did not answer within publish_timeout"));
    return count;
}

Result<void> Writer::write(std::span<Publish> publishes, std::span<const MetaWrite> meta) {
    if (auto ready = ready_to_write(); !ready) return ready;
    appended_.clear();
    auto written = storage_.write(batch_, config_.sync == Sync::always,
                                  [&](Batch& batch) { fill(batch, publishes, meta); });
    if (!written) {
        failed(written.error());
        return core::fail(*failure_);
    }
    succeeded(publishes);
    return {};
}

/// After a failure: whether to try again. In between all publishes are refused at once, so that
/// each is answered in bounded time.
Result<void> Writer::ready_to_write() {
    if (!failure_) return {};
    const auto now = config_.clock->mono();
    if (now >= retry_at_ && storage_.recover()) return {};
    if (now >= retry_at_) retry_at_ = config_.clock->mono() + kRetryAfter;
    return core::fail(*failure_);
}

void Writer::fill(Batch& batch, std::span<const Publish> publishes,
                  std::span<const MetaWrite> meta) {
    for (const auto& gone : voids_) {
        for (auto offset = gone.from; offset < gone.to; ++offset) {
            batch.erase(Family::records, record_key(gone.partition->where(), offset));
        }
    }
    if (!publishes.empty()) {
        const auto now = time_.read_clocks();
        for (const auto& publish : publishes) place(batch, publish, now.log);
        batch.put(Family::meta, meta::kTime, to_bytes(now));
    }
    // Partition by partition: neighbours on disk are cheap to insert one after the other.
    for (const auto* partition : touched_) {
        for (const auto i : partition->batch) {
            batch.put(Family::records, record_key(partition->where(), appended_[i].offset),
                      encode_time(appended_[i].time), publishes[i].body);
        }
    }
    for (const auto& write : meta) {
        for (const auto& [key, value] : write.pairs) batch.put(Family::meta, key, value);
    }
}

/// Gives the next record its offset and time.
void Writer::place(Batch& batch, const Publish& publish, core::Timestamp now) {
    auto& partition = *publish.where;
    if (partition.next_offset == partition.reserved_end) {
        // Synced with the record itself: no reader can have seen an offset of a block that a power
        // loss undoes.
        if (partition.reserved_end == 0) {  // its end when the log was opened
            batch.put(Family::meta, meta::key(meta::kEnd, partition.where()), meta::number(0));
        }
        partition.reserved_end += kBlock;
        batch.put(Family::meta, meta::key(meta::kBlock, partition.where()),
                  meta::number(partition.reserved_end));
        batch.require_sync();
    }
    if (partition.batch.empty()) touched_.push_back(&partition);
    partition.batch.push_back(static_cast<std::uint32_t>(appended_.size()));
    partition.newest = std::max(partition.newest, now);
    appended_.push_back({partition.next_offset++, partition.newest});
}

void Writer::succeeded(std::span<Publish> publishes) {
    const bool came_back = failure_.has_value();
    if (came_back) core::log_info("log", "writing_again");
    failure_.reset();
    voids_.clear();
    partitions_.pacing().next_batch();
    show_written(publishes);
    last_written_ = std::chrono::steady_clock::now();
    if (!came_back) return;
    for (auto* partition : partitions_.in_use()) partition->wake_readers();
}

void Writer::show_written(std::span<Publish> publishes) {
    for (auto* partition : touched_) {
        auto chunk = std::make_shared<Chunk>();
        chunk->entries.reserve(partition->batch.size());
        for (const auto i : partition->batch) {
            chunk->add(appended_[i].offset, appended_[i].time, std::move(publishes[i].body));
        }
        partition->batch.clear();
        tail_.emplace_back(partition, chunk->bytes);
        tail_bytes_ += chunk->bytes;
        partition->show(std::move(chunk), partition->next_offset);
    }
    touched_.clear();
    trim_tail();
}

void Writer::trim_tail() {
    while (tail_bytes_ > config_.tail_bytes && !tail_.empty()) {
        const auto [partition, bytes] = tail_.front();
        tail_.pop_front();
        tail_bytes_ -= bytes;
        partition->evict_oldest();
    }
}

/// The batch may have left records on the disk. No reader has seen their offsets, and none may see
/// them later, with these records or with others: the partitions go on at a new block of offsets,
/// and the next batch erases the old range.
void Writer::failed(const Error& error) {
    if (!failure_) {
        core::log_error("log", "write_failed",
                        {{"fault", core::to_string(error.fault)}, {"error", error.message}});
    }
    failure_ = error;
    if (error.fault == Fault::corrupt) failure_->fault = Fault::unavailable;
    retry_at_ = config_.clock->mono() + kRetryAfter;
    for (auto* partition : touched_) {
        voids_.push_back(
            {partition, appended_[partition->batch.front()].offset, partition->next_offset});
        partition->batch.clear();
        partition->next_offset = partition->reserved_end;
    }
    touched_.clear();
}

void Writer::answer(std::span<const Publish> publishes, const Result<void>& written) {
    for (std::size_t i = 0; i < publishes.size(); ++i) {
        auto& answers = *publishes[i].answers;
        if (answers.staged.empty()) answered_.push_back(&answers);
        if (written) {
            answers.staged.emplace_back(appended_[i]);
        } else {
            answers.staged.emplace_back(core::fail(written.error()));
        }
    }
    for (auto* answers : answered_) answers->send_staged();
    answered_.clear();
}

/// The row `clean` goes to a table file, after all records did: RocksDB cannot know whether a
/// write-ahead log is whole. The next start would have to write these files anyway.
void Writer::record_clean_stop() {
    const auto clean_stop = [this](Batch& batch) {
        batch.put(Family::meta, meta::kClean, "1");
        for (const auto* partition : partitions_.in_use()) {
            if (partition->reserved_end == 0) continue;
            batch.put(Family::meta, meta::key(meta::kEnd, partition->where()),
                      meta::number(partition->next_offset));
        }
    };
    auto written = storage_.flush();
    if (written) written = storage_.write(batch_, true, clean_stop);
    if (written) written = storage_.flush();
    if (!written) {
        core::log_warn("log", "not_stopped_cleanly", {{"error", written.error().message}});
    }
}

}  // namespace beckon::log::embedded
