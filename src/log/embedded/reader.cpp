#include "log/embedded/reader.hpp"

#include "log/embedded/record_format.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace beckon::log::embedded {

using core::Fault;
using core::Offset;
using core::Result;

namespace {

/// One piece from disk: enough to make the seek cheap, little enough to hold for each reader and to
/// keep a loop waiting for.
constexpr std::size_t kPieceRecords = 512;
constexpr std::size_t kPieceBytes = 128U << 10;
/// After a read that failed. Nothing else notifies it when the disk can be read again.
constexpr core::Duration kReadAgain = std::chrono::milliseconds{200};

}  // namespace

EmbeddedReader::EmbeddedReader(const Storage& storage, Partition* partition, Offset from,
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
            useless_ = core::Error{
                Fault::out_of_range,
                "offset " + std::to_string(from) + " is above the end " + std::to_string(ends.end)};
        }
        partition_->add_reader(waiter_);
    }
    waiter_->reader.post(waiter_->ready);
}

EmbeddedReader::~EmbeddedReader() {
    lifetime_.end();
    if (partition_) partition_->remove_reader(waiter_);
}

Result<Taken> EmbeddedReader::take(std::size_t max, const RecordSink& sink) {
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

/// Finds the chunk with the next record, or that there is none.
Result<void> EmbeddedReader::advance(bool& drained) {
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

Result<ChunkPtr> EmbeddedReader::read_from_disk(Offset until) const {
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

void EmbeddedReader::call_again_soon() {
    if (calls_soon_) return;
    waiter_->reader.post_after(kReadAgain, [this] {
        calls_soon_ = false;
        const auto call = waiter_->ready;  // may destroy this reader
        call();
    });
    calls_soon_ = true;
}

bool EmbeddedReader::deliver(const RecordSink& sink) {
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

void EmbeddedReader::applies_backpressure() {
    if (!partition_ || std::exchange(paces_, true)) return;
    partition_->set_pacing(*waiter_, !paused_);
}

void EmbeddedReader::pause() {
    paused_ = true;
    chunk_.reset();
    if (paces_) partition_->set_pacing(*waiter_, false);
}

void EmbeddedReader::resume() {
    if (!std::exchange(paused_, false)) return;
    if (paces_) partition_->set_pacing(*waiter_, true);
    waiter_->reader.post(waiter_->ready);
}

}  // namespace beckon::log::embedded
