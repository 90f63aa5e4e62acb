#pragma once

#include "core/lifetime.hpp"
#include "core/record.hpp"
#include "core/result.hpp"
#include "log/embedded/partitions.hpp"
#include "log/embedded/storage.hpp"
#include "log/event_log.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace beckon::log::embedded {

/// A cursor over chunks: near the end the chunks that the writer keeps in memory, further back
/// chunks that it reads from the disk itself, a bounded piece at a time. It holds on to one chunk
/// at most.
class EmbeddedReader final : public PartitionReader {
public:
    /// `partition` null: there is no such partition.
    EmbeddedReader(const Storage& storage, Partition* partition, core::Offset from,
                   core::Executor& executor, std::function<void()> ready);
    ~EmbeddedReader() override;

    core::Result<Taken> take(std::size_t max, const RecordSink& sink) override;
    core::Offset position() const override { return position_; }
    void pause() override;
    void resume() override;
    void applies_backpressure() override;

private:
    core::Result<void> advance(bool& drained);
    core::Result<ChunkPtr> read_from_disk(core::Offset until) const;
    bool deliver(const RecordSink& sink);
    void call_again_soon();

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

}  // namespace beckon::log::embedded
