#include "log/newest_values.hpp"

#include "core/clock.hpp"
#include "log/blocking_executor.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace beckon::log {

namespace {

constexpr std::size_t kBatch = 100;

}  // namespace

core::Result<NewestValues> read_newest_values(EventLog& log, TopicPartition where,
                                              std::chrono::milliseconds timeout) {
    // The executor outlives the reader and whatever the log still has to say to it.
    auto executor = std::make_shared<BlockingExecutor>();
    const auto until = core::SystemClock{}.mono() + timeout;
    std::shared_ptr<std::optional<core::Result<Ends>>> ends =
        std::make_shared<std::optional<core::Result<Ends>>>();
    log.ends(where, *executor, [ends, executor](auto result) { *ends = std::move(result); });
    if (!executor->wait_until([&] { return ends->has_value(); }, until)) {
        return core::fail(core::Fault::timed_out,
                          "no answer about the topic " + std::string{where.topic.name()});
    }
    if (!**ends) return core::fail((**ends).error());

    NewestValues entries;
    std::optional<core::Error> failed;
    std::unique_ptr<PartitionReader> reader;
    const auto end = (**ends)->end;
    const auto note = [&](const core::RecordView& record) {
        if (record.value) {
            entries[std::string{record.key}] = std::string{*record.value};
        } else {
            entries.erase(std::string{record.key});
        }
    };
    const auto take = [&] {
        for (;;) {
            const auto taken = reader->take(kBatch, note);
            if (!taken && !taken.error().retryable()) failed = taken.error();
            if (!taken || taken->drained || taken->records == 0) return;
        }
    };
    reader = log.open_reader(where, (**ends)->start, *executor, take);
    const auto complete = [&] { return failed || reader->position() >= end; };
    if (!executor->wait_until(complete, until)) {
        return core::fail(core::Fault::timed_out,
                          "the topic " + std::string{where.topic.name()} + " was not read in time");
    }
    if (failed) return core::fail(*failed);
    return entries;
}

}  // namespace beckon::log
