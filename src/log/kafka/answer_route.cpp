#include "log/kafka/answer_route.hpp"

#include "core/contain.hpp"

#include <utility>

namespace beckon::log::kafka {

void AnswerRoute::answer(AppendDone done, core::Result<Appended> result) {
    bool first = false;
    {
        const std::scoped_lock lock{mutex_};
        first = answers_.empty();
        answers_.push_back({std::move(done), std::move(result)});
    }
    if (first) publisher.post([this] { deliver(); });
}

void AnswerRoute::deliver() {
    std::vector<Answer> answers;
    {
        const std::scoped_lock lock{mutex_};
        answers.swap(answers_);
    }
    const auto term = lifetime.term();
    for (const auto& answer : answers) {
        --unanswered;
        core::contain("log answers", [&] { answer.done(answer.result); });  // the others' follow
        if (term.over()) return;
    }
}

}  // namespace beckon::log::kafka
