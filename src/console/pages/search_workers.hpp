#pragma once

#include "console/web/web_server.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace beckon::console {

/// The threads of searches (`console-find-N`): each reads the log until it knows, and meanwhile the
/// console's port serves others. Thread-safe.
class SearchWorkers {
public:
    /// More at once are refused, since each may read whole partitions.
    static constexpr std::size_t kSearchesMax = 2;

    using Search = std::function<console::Answer(const console::Parameters&)>;

    SearchWorkers();
    /// Waits until the searches that are under way have ended.
    ~SearchWorkers();
    SearchWorkers(const SearchWorkers&) = delete;
    SearchWorkers& operator=(const SearchWorkers&) = delete;

    /// `search` as a query of the console's port. Lives no longer than this.
    console::Ask ask(Search search);

private:
    struct Task {
        Search search;
        console::Parameters asked;
        console::Reply reply;
    };
    /// False: so many are under way that no worker takes it.
    bool begin(Task task);
    void run(std::size_t number);

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Task> waiting_;   ///< for a thread to wake up; under mutex_
    std::size_t under_way_ = 0;  ///< under mutex_, as the next
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace beckon::console
