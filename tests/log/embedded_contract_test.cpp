#include "log/contract.hpp"
#include "log/embedded/embedded_log.hpp"
#include "support/temp_dir.hpp"
#include "support/test_executor.hpp"

#include <csignal>
#include <stdexcept>

#include <sys/resource.h>

namespace beckon::test {

namespace {

/// No file of this process may grow: every write of the log fails on its real way to the disk.
void limit_file_size(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = std::min(bytes, limit.rlim_max);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) throw std::runtime_error("cannot set RLIMIT_FSIZE");
}

class EmbeddedUnderTest final : public LogUnderTest {
public:
    explicit EmbeddedUnderTest(const LogOptions& options) {
        config_ = {.directory = directory_ / "log",
                   .sync = log::Sync::never,
                   .partitions = partitions,
                   .history_window = std::chrono::seconds{0},
                   .delete_retention = std::chrono::seconds{0},
                   .waiting_max = options.waiting_max,
                   .tail_bytes = 1U << 20,
                   .write_buffer_bytes = 8U << 20,
                   .clock = &clock_};
        log_ = log::open_embedded_log(config_);
        session_timeout = std::chrono::milliseconds{300};
        slow_reader_bytes_max = 64U << 20;
        restart = [this] {
            log_.reset();
            log_ = log::open_embedded_log(config_);
        };
        compact_now = [this](log::TopicPartition where) {
            push_out_of_memory(where);
            must(log_->clean_now());
        };
        truncate_before = [this](log::TopicPartition where, core::Offset start) {
            must(log_->truncate_before(where, start));
        };
        go_away = [] { limit_file_size(0); };
        come_back = [] { limit_file_size(RLIM_INFINITY); };
    }
    ~EmbeddedUnderTest() override { limit_file_size(RLIM_INFINITY); }

    log::EventLog& log() override { return *log_; }
    core::Executor& executor() override { return executor_; }
    const core::Clock& clock() override { return clock_; }
    bool wait_until(const std::function<bool()>& done, core::Duration limit) override {
        return executor_.wait_until(done, limit);
    }

private:
    /// Readers take the newest records from memory, whatever the cleaner does on disk.
    void push_out_of_memory(log::TopicPartition where) {
        const auto publisher = log_->open_publisher(executor_);
        int answers = 0;
        for (int i = 0; i < 3; ++i) {
            publisher->publish(where,
                               {"!compact/" + std::to_string(i), std::string(900'000, 'x'), {}},
                               [&](const auto&) { ++answers; });
        }
        wait_until([&] { return answers == 3; }, std::chrono::seconds{20});
    }
    static void must(const core::Result<void>& result) {
        if (!result) throw std::runtime_error(result.error().message);
    }

    TempDir directory_;
    core::SystemClock clock_;
    WaitingExecutor executor_;
    log::EmbeddedConfig config_;
    std::unique_ptr<log::EmbeddedLog> log_;
};

}  // namespace

std::unique_ptr<LogUnderTest> make_log_under_test(const LogOptions& options) {
    return std::make_unique<EmbeddedUnderTest>(options);
}

}  // namespace beckon::test
