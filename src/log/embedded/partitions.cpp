#include "log/embedded/partitions.hpp"

#include <algorithm>

namespace beckon::log::embedded {

Partition::Next Partition::next(core::Offset position, Waiter& waiter) {
    const std::scoped_lock lock{mutex_};
    Next next{nullptr, std::max(position, start_), 0, false};
    if (next.position >= visible_end_) {
        next.drained = true;
        arm(waiter);
    } else if (tail_.empty() || next.position < tail_.first()) {
        next.disk_until = tail_.empty() ? visible_end_ : tail_.first();
    } else {
        next.chunk = tail_.find(next.position);
        // Between the last record and the end there are only offsets that no record was given.
        if (!next.chunk) {
            next.position = visible_end_;
            next.drained = true;
            arm(waiter);
        }
    }
    return next;
}

void Partition::arm(Waiter& waiter) {
    waiter.armed = true;
    not_behind(waiter);
}

void Partition::not_behind(Waiter& waiter) {
    if (const auto behind = std::exchange(waiter.behind, std::nullopt)) pacing_.has_read(*behind);
}

void Partition::set_pacing(Waiter& waiter, bool paces) {
    const std::scoped_lock lock{mutex_};
    waiter.paces = paces;
    if (!paces) not_behind(waiter);
}

void Partition::add_reader(const std::shared_ptr<Waiter>& waiter) {
    const std::scoped_lock lock{mutex_};
    readers_.push_back(waiter);
}

void Partition::remove_reader(const std::shared_ptr<Waiter>& waiter) {
    const std::scoped_lock lock{mutex_};
    not_behind(*waiter);
    std::erase(readers_, waiter);
}

void Partition::set_start(core::Offset start) {
    const std::scoped_lock lock{mutex_};
    start_ = std::clamp(start, start_, visible_end_);
}

void Partition::wake_readers() {
    const std::scoped_lock lock{mutex_};
    for (const auto& waiter : readers_) {
        if (!std::exchange(waiter->armed, false)) continue;
        if (waiter->paces && !waiter->behind) waiter->behind = pacing_.woken();
        waiter->reader.post(waiter->ready);
    }
}

void Partition::restore(Ends ends, core::Offset known_end) {
    const std::scoped_lock lock{mutex_};
    start_ = ends.start;
    visible_end_ = ends.end;
    opened_end_ = ends.end;
    known_end_ = known_end;
}

void Partition::show(ChunkPtr chunk, core::Offset end) {
    {
        const std::scoped_lock lock{mutex_};
        tail_.push(std::move(chunk));
        visible_end_ = end;
    }
    wake_readers();
}

void Partition::evict_oldest() {
    const std::scoped_lock lock{mutex_};
    tail_.pop_oldest();
}

Partitions::~Partitions() {
    for (auto& topic : topics_) delete topic.load();
}

Partition* Partitions::find(TopicPartition where) {
    if (!exists(where, count_)) return nullptr;
    auto& slot = topics_[static_cast<std::size_t>(where.topic.index())];
    auto* of_topic = slot.load(std::memory_order_acquire);
    if (!of_topic) {
        const std::scoped_lock lock{making_};
        of_topic = slot.load(std::memory_order_acquire);
        if (!of_topic) {
            auto made = std::make_unique<OfTopic>();
            for (core::Partition p = 0; p < partitions_of(where.topic, count_); ++p) {
                made->push_back(
                    std::make_unique<Partition>(TopicPartition{where.topic, p}, pacing_));
            }
            of_topic = made.release();
            slot.store(of_topic, std::memory_order_release);
        }
    }
    return (*of_topic)[static_cast<std::size_t>(where.partition)].get();
}

std::vector<Partition*> Partitions::in_use() {
    std::vector<Partition*> all;
    for (auto& topic : topics_) {
        if (const auto* of_topic = topic.load(std::memory_order_acquire)) {
            for (const auto& partition : *of_topic) all.push_back(partition.get());
        }
    }
    return all;
}

}  // namespace beckon::log::embedded
