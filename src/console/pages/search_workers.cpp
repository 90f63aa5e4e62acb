#include "console/pages/search_workers.hpp"

#include "core/contain.hpp"
#include "core/logger.hpp"

#include <exception>
#include <utility>

#include <pthread.h>

namespace beckon::console {

namespace {

/// A search that fails (no memory) ends alone.
console::Answer answer_of(const SearchWorkers::Search& search, const console::Parameters& asked) {
    try {
        return search(asked);
    } catch (const std::exception& thrown) {
        core::log_error("console", "search_threw", {{"error", thrown.what()}});
        return refused(500, "the console failed at this search");
    }
}

Answer others_search() {
    return refused(net::kUnavailable, "others search; try again in a moment");
}

}  // namespace

SearchWorkers::SearchWorkers(const Options& options) {
    for (std::size_t i = 0; i < options.at_a_time; ++i) {
        threads_.emplace_back(
            [this, name = options.thread_name + "-" + std::to_string(i)] { run(name); });
    }
}

SearchWorkers::~SearchWorkers() {
    {
        const std::scoped_lock lock{mutex_};
        stopping_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
}

template <class Value>
void SearchWorkers::give(std::function<Value()> make, std::function<void(Value)> then,
                         Value otherwise) {
    const bool begun =
        post([make = std::move(make), then] { return [then, made = make()] { then(made); }; });
    if (!begun) then(std::move(otherwise));
}

console::Ask SearchWorkers::ask(Search search) {
    return [this, search = std::move(search)](const console::Parameters& asked,
                                              const console::Reply& reply) {
        give<Answer>([search, asked] { return answer_of(search, asked); }, reply, others_search());
    };
}

Act SearchWorkers::act(std::function<Plan(const std::string&)> plan,
                       std::function<Answer(const std::string&, const std::string&)> run) {
    return {[this, plan = std::move(plan)](const std::string& wanted,
                                           const std::function<void(Plan)>& then) {
                give<Plan>([plan, wanted] { return plan(wanted); }, then, {others_search()});
            },
            [this, run = std::move(run)](const std::string& order, const std::string& by,
                                         const Reply& reply) {
                give<Answer>([run, order, by] { return run(order, by); }, reply, others_search());
            }};
}

bool SearchWorkers::post(Work work) {
    const std::scoped_lock lock{mutex_};
    if (under_way_ >= threads_.size()) return false;
    waiting_.push_back(std::move(work));
    ++under_way_;
    wake_.notify_one();
    return true;
}

void SearchWorkers::run(const std::string& name) {
    pthread_setname_np(pthread_self(), name.c_str());
    std::unique_lock lock{mutex_};
    for (;;) {
        wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (stopping_) return;
        const auto work = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        Answering answer;
        core::contain("console", [&] { answer = work(); });
        lock.lock();
        --under_way_;  // before the answer is out, after which its asker may ask again
        lock.unlock();
        if (answer) answer();
        lock.lock();
    }
}

}  // namespace beckon::console
