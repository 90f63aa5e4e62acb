#pragma once

#include "retry/home/queue/attempt_queue.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/temp_dir.hpp"
#include "support/test_executor.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beckon::test {

/// The queue of a thread's attempts and its surroundings; outcomes of deliveries are written down.
struct AttemptsWorld : retry::DeliveryOutcomes {
    AttemptsWorld(const retry::DeliveryOptions& options, retry::WorkJournal::Slot* journal,
                  std::function<void(retry::Job)> next)
        : home{.log = *log,
               .publisher = *publisher,
               .executor = executor,
               .clock = clock,
               .tally = tally,
               .journal = journal},
          queue(options, home, std::move(next)) {}

    void finish(const retry::Ticket& t) override { outcomes.push_back("finish " + text(t)); }
    void promote(const retry::Ticket& t, retry::Delivery d, int tier) override {
        if (promoting) promoting();
        outcomes.push_back("tier " + std::to_string(tier) + " " + text(t) + " attempts " +
                           std::to_string(d.attempts));
        last = std::move(d);
    }
    void dead_letter(const retry::Ticket& t, retry::Delivery d) override {
        outcomes.push_back("dead-letter " + text(t) + " " + std::string{to_string(*d.last)});
    }
    static std::string text(const retry::Ticket& t) { return std::to_string(t.offset); }

    ManualClock clock;
    SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log = log::make_memory_log(
        {.partitions = 1, .clock = &clock, .read_delay_max = std::chrono::milliseconds{50}});
    std::unique_ptr<log::Publisher> publisher = log->open_publisher(executor);
    std::vector<std::string> outcomes;
    std::function<void()> sending, promoting;  ///< within the attempt, and within its end
    std::optional<retry::Delivery> last;       ///< that was promoted
    retry::Tally tally;
    retry::HomeContext home;
    retry::AttemptQueue queue;
};

/// Processes one after the other, each with a journal in the file that its predecessor left.
struct Processes {
    TempDir directory;
    std::filesystem::path file = directory.path() / "attempts";
    std::filesystem::path left = directory.path() / "left";

    /// The next process finds the file as it is now.
    void end_process() const {
        std::filesystem::copy_file(file, left, std::filesystem::copy_options::overwrite_existing);
    }
    /// Calls `process` with the journal's slot of its thread.
    template <class F>
    auto run(F process) const {
        if (std::filesystem::exists(left)) std::filesystem::rename(left, file);
        retry::WorkJournal journal{file};
        return process(&journal.slot(1));
    }
};

}  // namespace beckon::test
