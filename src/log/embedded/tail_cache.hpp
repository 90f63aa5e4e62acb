#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"

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
    std::size_t index_of(core::Offset offset) const;
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
    ChunkPtr find(core::Offset position) const;

private:
    std::deque<ChunkPtr> chunks_;
};

}  // namespace beckon::log::embedded
