#include "log/contract.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

namespace beckon::test {

namespace {

/// The memory log with delays, in one thread: time goes on only while somebody waits.
class MemoryUnderTest final : public LogUnderTest {
public:
    explicit MemoryUnderTest(const LogOptions& options) {
        log_ = log::make_memory_log({.seed = 1,
                                     .partitions = partitions,
                                     .clock = &clock_,
                                     .append_delay_max = std::chrono::milliseconds{3},
                                     .read_delay_max = std::chrono::milliseconds{3},
                                     .publish_timeout = publish_timeout,
                                     .waiting_max = options.waiting_max});
        compact_now = [this](log::TopicPartition where) {
            log_->compact(where, log_->records(where).back().offset + 1, true);
        };
        truncate_before = [this](log::TopicPartition where, core::Offset start) {
            log_->truncate_before(where, start);
        };
        go_away = [this] { log_->set_away(true); };
        come_back = [this] { log_->set_away(false); };
    }

    log::EventLog& log() override { return *log_; }
    core::Executor& executor() override { return executor_; }
    const core::Clock& clock() override { return clock_; }
    bool wait_until(const std::function<bool()>& done, core::Duration limit) override {
        const auto until = clock_.mono() + limit;
        while (!done()) {
            if (executor_.step()) continue;
            if (clock_.mono() >= until) return false;
            clock_.advance(std::chrono::microseconds{500});
        }
        return true;
    }

private:
    ManualClock clock_;
    SimExecutor executor_{clock_};
    std::unique_ptr<log::MemoryLog> log_;
};

}  // namespace

std::unique_ptr<LogUnderTest> make_log_under_test(const LogOptions& options) {
    return std::make_unique<MemoryUnderTest>(options);
}

}  // namespace beckon::test
