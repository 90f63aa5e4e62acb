#include "core/time_guard.hpp"
#include "log/contract_support.hpp"
#include "log/embedded/embedded_under_test.hpp"

namespace beckon::test {

namespace {

class EmbeddedForContract final : public EmbeddedUnderTest {
public:
    explicit EmbeddedForContract(const LogOptions& options)
        : EmbeddedUnderTest([&](log::EmbeddedConfig& c) {
              // Nothing is kept on purpose, and the hour that makes sure has passed already.
              c.history_window = -core::kDestructionMargin;
              c.delete_retention = -core::kDestructionMargin;
              c.waiting_max = options.waiting_max;
          }) {
        session_timeout = std::chrono::milliseconds{300};
        slow_reader_bytes_max = 64U << 20;
        restart = [this] {
            close();
            open();
        };
        compact_now = [this](log::TopicPartition where) {
            // Readers take the newest records from memory, whatever the cleaner does on disk.
            const std::string filler(900'000, 'x');
            append(*this, where,
                   {record("!compact/0", filler), record("!compact/1", filler),
                    record("!compact/2", filler)});
            must(embedded->clean_now());
        };
        go_away = [] { FileSizeLimit::set(); };
        come_back = [] { FileSizeLimit::lift(); };
    }
    ~EmbeddedForContract() override { FileSizeLimit::lift(); }
};

}  // namespace

std::unique_ptr<LogUnderTest> make_log_under_test(const LogOptions& options) {
    return std::make_unique<EmbeddedForContract>(options);
}

}  // namespace beckon::test
