#include "rocks/background_yield.hpp"

#include <algorithm>
#include <cstdint>
#include <thread>
#include <utility>

namespace beckon::rocks {

namespace {

using Clock = std::chrono::steady_clock;

class YieldingTable final : public rocksdb::TablePropertiesCollector {
public:
    explicit YieldingTable(std::function<void()> yield) : yield_(std::move(yield)) {}

    const char* Name() const override { return "beckon.yields"; }
    rocksdb::Status AddUserKey(const rocksdb::Slice&, const rocksdb::Slice&, rocksdb::EntryType,
                               rocksdb::SequenceNumber, std::uint64_t) override {
        return rocksdb::Status::OK();
    }
    void BlockAdd(std::uint64_t, std::uint64_t, std::uint64_t) override {
        const auto now = Clock::now();
        if (!budget().allows(last_, now)) return;
        yield_();
        last_ = Clock::now();
        budget().spend(last_ - now);
    }
    rocksdb::Status Finish(rocksdb::UserCollectedProperties*) override {
        return rocksdb::Status::OK();
    }
    rocksdb::UserCollectedProperties GetReadableProperties() const override { return {}; }

private:
    static YieldBudget& budget() {
        static YieldBudget shared{{}};
        return shared;
    }
    const std::function<void()> yield_;
    Clock::time_point last_ = Clock::now();
};

class YieldingTables final : public rocksdb::TablePropertiesCollectorFactory {
public:
    explicit YieldingTables(std::function<void()> yield) : yield_(std::move(yield)) {}

    const char* Name() const override { return "beckon.yields"; }
    rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(
        rocksdb::TablePropertiesCollectorFactory::Context) override {
        return new YieldingTable{yield_};
    }

private:
    const std::function<void()> yield_;
};

}  // namespace

bool YieldBudget::allows(Time last, Time now) {
    if (now - last < limits_.every) return false;
    const std::lock_guard lock{mutex_};
    const auto earned = std::chrono::duration<double>{now - earned_until_} * limits_.share;
    left_ = std::min(limits_.saved_max, left_ + std::chrono::duration_cast<Duration>(earned));
    earned_until_ = now;
    return left_ > Duration::zero();
}

void YieldBudget::spend(Duration waited) {
    const std::lock_guard lock{mutex_};
    left_ -= waited;
}

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> yields_between_blocks(
    std::function<void()> yield) {
    if (!yield) yield = [] { std::this_thread::yield(); };
    return std::make_shared<YieldingTables>(std::move(yield));
}

}  // namespace beckon::rocks
