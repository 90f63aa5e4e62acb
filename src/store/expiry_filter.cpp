#include "store/expiry_filter.hpp"

#include "store/schema.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace beckon::store {

namespace {

constexpr std::size_t kPartitions = 1U << 16;
constexpr std::chrono::hours kClockStep{1};

class ExpiryFilter final : public rocksdb::CompactionFilter {
public:
    explicit ExpiryFilter(std::shared_ptr<const FoldTimes> times) : times_(std::move(times)) {}

    const char* Name() const override { return "beckon.expiry"; }
    bool Filter(int, const rocksdb::Slice& key, const rocksdb::Slice& value, std::string*,
                bool*) const override {
        if (key.size() < kPrefixBytes) return false;
        const auto due = drop_time({value.data(), value.size()});
        return due && *due + kClockStep <= times_->at(partition_of_row({key.data(), key.size()}));
    }

private:
    std::shared_ptr<const FoldTimes> times_;
};

class ExpiryFilterFactory final : public rocksdb::CompactionFilterFactory {
public:
    explicit ExpiryFilterFactory(std::shared_ptr<const FoldTimes> times)
        : times_(std::move(times)) {}

    const char* Name() const override { return "beckon.expiry"; }
    std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
        const rocksdb::CompactionFilter::Context&) override {
        return std::make_unique<ExpiryFilter>(times_);
    }
    /// At flushes too: what a restore folds from the distant past need never reach a table.
    bool ShouldFilterTableFileCreation(rocksdb::TableFileCreationReason reason) const override {
        return reason == rocksdb::TableFileCreationReason::kFlush ||
               reason == rocksdb::TableFileCreationReason::kCompaction;
    }

private:
    std::shared_ptr<const FoldTimes> times_;
};

}  // namespace

FoldTimes::FoldTimes() : ms_(std::make_unique<std::atomic<std::int64_t>[]>(kPartitions)) {}

void FoldTimes::raise(core::Partition partition, core::Timestamp time) {
    auto& ms = ms_[static_cast<std::size_t>(partition)];
    const std::int64_t wanted = time.time_since_epoch().count();
    std::int64_t seen = ms.load(std::memory_order_relaxed);
    while (seen < wanted && !ms.compare_exchange_weak(seen, wanted, std::memory_order_relaxed)) {
    }
}

void FoldTimes::forget(core::Partition partition) {
    ms_[static_cast<std::size_t>(partition)].store(0, std::memory_order_relaxed);
}

core::Timestamp FoldTimes::at(core::Partition partition) const {
    return core::Timestamp{std::chrono::milliseconds{
        ms_[static_cast<std::size_t>(partition)].load(std::memory_order_relaxed)}};
}

std::shared_ptr<rocksdb::CompactionFilterFactory> make_expiry_filter(
    std::shared_ptr<const FoldTimes> times) {
    return std::make_shared<ExpiryFilterFactory>(std::move(times));
}

}  // namespace beckon::store
