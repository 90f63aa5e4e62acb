#include "store/rows/expiry_filter.hpp"

#include "core/time_guard.hpp"
#include "store/rows/schema.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace beckon::store {

namespace {

constexpr std::size_t kPartitions = 1U << 16;

class ExpiryFilter final : public rocksdb::CompactionFilter {
public:
    explicit ExpiryFilter(std::shared_ptr<const FoldTimes> times) : times_(std::move(times)) {}

    const char* Name() const override { return "beckon.expiry"; }
    bool Filter(int, const rocksdb::Slice& key, const rocksdb::Slice& value, std::string*,
                bool*) const override {
        if (key.size() < kPrefixBytes) return false;
        const auto due = drop_time({value.data(), value.size()});
        return due && *due <= times_->certainly_past(partition_of_row({key.data(), key.size()}));
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
    /// At flushes too: rows that a restore folds from the distant past need never reach a table.
    bool ShouldFilterTableFileCreation(rocksdb::TableFileCreationReason reason) const override {
        return reason == rocksdb::TableFileCreationReason::kFlush ||
               reason == rocksdb::TableFileCreationReason::kCompaction;
    }

private:
    std::shared_ptr<const FoldTimes> times_;
};

}  // namespace

FoldTimes::FoldTimes(const core::Clock& host)
    : host_(host), ms_(std::make_unique<std::atomic<std::int64_t>[]>(kPartitions)) {}

void FoldTimes::set(core::Partition partition, core::Timestamp time) {
    ms_[static_cast<std::size_t>(partition)].store(time.time_since_epoch().count(),
                                                   std::memory_order_relaxed);
}

void FoldTimes::forget(core::Partition partition) {
    ms_[static_cast<std::size_t>(partition)].store(0, std::memory_order_relaxed);
}

core::Timestamp FoldTimes::certainly_past(core::Partition partition) const {
    const core::Timestamp fold{std::chrono::milliseconds{
        ms_[static_cast<std::size_t>(partition)].load(std::memory_order_relaxed)}};
    return core::certainly_past(fold, host_.wall());
}

std::shared_ptr<rocksdb::CompactionFilterFactory> make_expiry_filter(
    std::shared_ptr<const FoldTimes> times) {
    return std::make_shared<ExpiryFilterFactory>(std::move(times));
}

}  // namespace beckon::store
