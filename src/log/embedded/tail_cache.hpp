#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace beckon::log::embedded {

/// A few consecutive records of one partition, as they are on disk. Never changed once readers can
/// see it, so they share it without a lock.
struct Chunk {
    struct Entry {
        core::Offset offset;
        core::Timestamp time;
        std::string body;
    };
    std::vector<Entry> entries;  ///< not empty, in order of offsets
    std::size_t bytes = 0;

    void add(core::Offset offset, core::Timestamp time, std::string body) {
        bytes += sizeof(Entry) + body.size();
        entries.push_back({offset, time, std::move(body)});
    }
    core::Offset first() const { return entries.front().offset; }
    core::Offset end() const { return entries.back().offset + 1; }
    /// The index of the first record at or above `offset`; entries.size() if there is none.
    std::size_t index_of(core::Offset offset) const {
        const auto at =
            std::lower_bound(entries.begin(), entries.end(), offset,
                             [](const Entry& entry, core::Offset o) { return entry.offset < o; });
        return static_cast<std::size_t>(at - entries.begin());
    }
};
using ChunkPtr = std::shared_ptr<const Chunk>;

/// The newest records of one partition: every record from first() on is in it. Protected by the
/// partition's mutex; bounded by the writer, which counts the bytes of all partitions together.
class TailCache {
public:
    void push(ChunkPtr chunk) { chunks_.push_back(std::move(chunk)); }
    void pop_oldest() { chunks_.pop_front(); }
    bool empty() const { return chunks_.empty(); }
    core::Offset first() const { return chunks_.front()->first(); }

    /// The chunk in which a reader at `position` ≥ first() finds its next record; null if all
    /// records lie below it.
    ChunkPtr find(core::Offset position) const {
        // A live reader wants the last one.
        if (!chunks_.empty() && position >= chunks_.back()->first()) {
            return position < chunks_.back()->end() ? chunks_.back() : nullptr;
        }
        const auto at = std::lower_bound(
            chunks_.begin(), chunks_.end(), position,
            [](const ChunkPtr& chunk, core::Offset offset) { return chunk->end() <= offset; });
        return at == chunks_.end() ? nullptr : *at;
    }

private:
    std::deque<ChunkPtr> chunks_;
};

}  // namespace beckon::log::embedded
