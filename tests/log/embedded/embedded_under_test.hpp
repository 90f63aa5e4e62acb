#pragma once

#include "log/contract_support.hpp"
#include "log/embedded/embedded_log.hpp"
#include "support/temp_dir.hpp"
#include "support/test_executor.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>

namespace beckon::test {

/// The embedded log over a directory of its own, which stays when the log is closed.
class EmbeddedUnderTest : public LogUnderTest {
public:
    using Change = std::function<void(log::EmbeddedConfig&)>;

    /// `change` makes the configuration that of the test: small buffers, sync = never otherwise.
    explicit EmbeddedUnderTest(const Change& change = {}) {
        config.directory = directory / "log";
        config.sync = log::Sync::never;
        config.partitions = partitions;
        config.tail_bytes = 1U << 20;
        config.memory = std::make_shared<rocks::Memory>(16U << 20, 8U << 20);
        config.clock = &clock_;
        if (change) change(config);
        open();
    }

    log::EventLog& log() override { return *embedded; }
    core::Executor& executor() override { return executor_; }
    const core::Clock& clock() override { return *config.clock; }
    bool wait_until(const std::function<bool()>& done,
                    core::Duration limit = std::chrono::seconds{20}) override {
        return executor_.wait_until(done, limit);
    }

    void open() { embedded = log::open_embedded_log(config); }
    void close() { embedded.reset(); }

    static void must(const core::Result<void>& result) {
        if (!result) throw std::runtime_error(result.error().message);
    }

    TempDir directory;
    log::EmbeddedConfig config;
    std::unique_ptr<log::EmbeddedLog> embedded;

private:
    core::SystemClock clock_;
    WaitingExecutor executor_;
};

/// Publishes it again and again until the log takes it, as it must within 20 s.
Read publish_until_taken(LogUnderTest& log, log::Publisher& publisher, log::TopicPartition where,
                         const core::Record& record);

/// Copies the directory of a log that is open, as `kill -9` would leave it now. RocksDB may remove
/// files meanwhile that it needs no more, and a write-ahead file may be filled ahead: then it
/// begins again. No record may be written meanwhile.
void copy_as_killed(const std::filesystem::path& from, const std::filesystem::path& to);

/// No file of this process may grow: every write of the log fails on its real way to the disk.
class FileSizeLimit {
public:
    static void set();
    static void lift();
    FileSizeLimit() { set(); }
    ~FileSizeLimit() { lift(); }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;
};

}  // namespace beckon::test
