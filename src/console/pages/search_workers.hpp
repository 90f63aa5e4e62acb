#pragma once

#include "console/web/answer.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace beckon::console {

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

    /// Work that returns the step that gives its answer: that one is called when the thread is free
    /// for others again. Work that throws is logged, and gives none.
    using Answering = std::function<void()>;
    using Work = std::function<Answering()>;
    /// False: so many are under way that no worker takes it.
    bool post(Work work);

private:
    void run(const std::string& name);

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Work> waiting_;   ///< for a thread to wake up; under mutex_
    std::size_t under_way_ = 0;  ///< under mutex_, as the next
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace beckon::console
