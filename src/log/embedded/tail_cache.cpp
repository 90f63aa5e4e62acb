#include "log/embedded/tail_cache.hpp"

#include <algorithm>

namespace beckon::log::embedded {

std::size_t Chunk::index_of(core::Offset offset) const {
    const auto at =
        std::lower_bound(entries.begin(), entries.end(), offset,
                         [](const Entry& entry, core::Offset o) { return entry.offset < o; });
    return static_cast<std::size_t>(at - entries.begin());
}

ChunkPtr TailCache::find(core::Offset position) const {
    // A live reader wants the last one.
    if (!chunks_.empty() && position >= chunks_.back()->first()) {
        return position < chunks_.back()->end() ? chunks_.back() : nullptr;
    }
    const auto at = std::lower_bound(
        chunks_.begin(), chunks_.end(), position,
        [](const ChunkPtr& chunk, core::Offset offset) { return chunk->end() <= offset; });
    return at == chunks_.end() ? nullptr : *at;
}

}  // namespace beckon::log::embedded
