#include "log/contract.hpp"

#include "support/kafka_topics.hpp"
#include "support/test_executor.hpp"

namespace beckon::test {

namespace {

using log::Topic;

/// A real broker that all cases share, with topics of its own for each.
class KafkaUnderTest final : public LogUnderTest {
public:
    explicit KafkaUnderTest(const LogOptions& options) : config_(kafka_config(fresh_prefix())) {
        publish_timeout = config_.publish_timeout;
        session_timeout = std::chrono::milliseconds{1500};
        config_.waiting_max = options.waiting_max;
        config_.fetch_bytes = 16U << 20;
        config_.partitions_read = 4;
        // The prefetch, one more fetch, and the memory that malloc keeps after 160 MB.
        slow_reader_bytes_max = 48U << 20;
        create_topics(config_, some_topics({Topic::kNotifications, Topic::kSubscriptions,
                                            Topic::kOwnership, Topic::retry(0)},
                                           partitions));
        log_ = log::open_kafka_log(config_);
        restart = [this] {
            log_.reset();
            log_ = log::open_kafka_log(config_);
        };
        truncate_before = [this](log::TopicPartition where, core::Offset start) {
            delete_records(config_, where, start);
        };
        go_away = [] { KafkaBroker::shared().kill(); };
        come_back = [] { KafkaBroker::shared().restart(); };
    }

    log::EventLog& log() override { return *log_; }
    core::Executor& executor() override { return executor_; }
    const core::Clock& clock() override { return clock_; }
    bool wait_until(const std::function<bool()>& done, core::Duration limit) override {
        return executor_.wait_until(done, limit);
    }

private:
    log::KafkaConfig config_;
    core::SystemClock clock_;
    WaitingExecutor executor_;
    std::unique_ptr<log::EventLog> log_;
};

}  // namespace

std::unique_ptr<LogUnderTest> make_log_under_test(const LogOptions& options) {
    return std::make_unique<KafkaUnderTest>(options);
}

}  // namespace beckon::test
