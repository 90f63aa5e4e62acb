#pragma once

#include "core/lifetime.hpp"

#include <memory>
#include <utility>

namespace beckon::core {

/// An executor to give with a query whose answer may come after the asker's own executor is gone
/// (a broker that does not answer while the process stops): posts that come then are dropped. The
/// callback of the query owns it, so it lasts until the last post.
class LastingExecutor final : public Executor {
public:
    explicit LastingExecutor(Lifetime::Remote owner) : owner_(std::move(owner)) {}

    void post(Task task) override {
        const auto owner = owner_;  // dropping the task may destroy this
        owner.post(std::move(task));
    }
    void post_after(Duration delay, Task task) override {
        const auto owner = owner_;
        owner.post_after(delay, std::move(task));
    }

private:
    const Lifetime::Remote owner_;
};

/// Calls `ask(executor, callback)`, where both outlast the asker and the callback runs `answer` on
/// the asker's executor while `lifetime` lasts.
template <class Ask, class Answer>
void ask_while(const Lifetime& lifetime, Ask ask, Answer answer) {
    const auto executor = std::make_shared<LastingExecutor>(lifetime.remote());
    ask(*executor, [executor, guarded = lifetime.guard(std::move(answer))](
                       const auto& result) mutable { guarded(result); });
}

}  // namespace beckon::core
