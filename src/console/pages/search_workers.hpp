#pragma once

#include "console/web/answer.hpp"
#include "core/clock.hpp"
#include "inspect/trace/scan.hpp"
#include "log/event_log.hpp"
#include "log/topics_admin.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace beckon::console {

/// How long queries may read the log. Any thread.
class ReadingTime {
public:
    static constexpr std::chrono::seconds kEach{20};

    /// The clock outlives it.
    explicit ReadingTime(const core::Clock& clock) : clock_(clock) {}
    /// Of a query that begins now. Lives no longer than this.
    inspect::ScanLimits begin() const {
        return {.given_up = [this, until = clock_.mono() + kEach] {
            return stopped_ || clock_.mono() > until;
        }};
    }
    /// Ends all queries; no new one begins.
    void stop() { stopped_ = true; }

private:
    const core::Clock& clock_;
    std::atomic<bool> stopped_{false};
};

/// The installation's log, as queries read it. All of it outlives them.
struct QueryContext {
    log::EventLog& log;
    const core::Clock& clock;
    const ReadingTime& reading;
    const log::LayoutOptions& layout;
};

/// Threads for queries that wait: for the log (`console-find-N`), or for another process. Meanwhile
/// the console's port serves others. Thread-safe.
class SearchWorkers {
public:
    /// More at once are refused, since each may read whole partitions.
    static constexpr std::size_t kSearchesMax = 2;

    using Search = std::function<console::Answer(const console::Parameters&)>;

    struct Options {
        std::string thread_name = "console-find";
        std::size_t at_a_time = kSearchesMax;
    };
    SearchWorkers() : SearchWorkers(Options{}) {}
    explicit SearchWorkers(const Options& options);
    /// Waits until the searches that are under way have ended.
    ~SearchWorkers();
    SearchWorkers(const SearchWorkers&) = delete;
    SearchWorkers& operator=(const SearchWorkers&) = delete;

    /// `search` as a query of the console's port. Lives no longer than this.
    console::Ask ask(Search search);
    /// An act of the console's port, whose steps wait. Lives no longer than this.
    Act act(std::function<Plan(const std::string& wanted)> plan,
            std::function<Answer(const std::string& order, const std::string& by)> run);

private:
    /// Work that returns the step that gives its answer: that one is called when the thread is free
    /// for others again. Work that throws is logged, and gives none.
    using Answering = std::function<void()>;
    using Work = std::function<Answering()>;
    /// False: so many are under way that no worker takes it.
    bool post(Work work);
    /// Lets a worker make the value, and gives it to `then`; `otherwise` where none takes the work.
    template <class Value>
    void give(std::function<Value()> make, std::function<void(Value)> then, Value otherwise);
    void run(const std::string& name);

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Work> waiting_;   ///< for a thread to wake up; under mutex_
    std::size_t under_way_ = 0;  ///< under mutex_, as the next
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace beckon::console
