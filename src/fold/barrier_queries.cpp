#include "fold/barrier_queries.hpp"

#include <memory>
#include <utility>

namespace beckon::fold {

using core::Error;
using core::Fault;

BarrierQueries::BarrierQueries(Inputs& inputs, core::Executor& executor, std::size_t most)
    : inputs_(inputs), executor_(executor), most_(most), lifetime_(executor) {}

void BarrierQueries::confirm(const std::vector<InputIndex>& of, Answer answer) {
    if (auto admitted = admit(std::move(answer))) ask_barriers(of, std::move(admitted));
}

void BarrierQueries::when_folded(InputIndex i, core::Offset offset, Answer answer) {
    auto admitted = admit(std::move(answer));
    if (!admitted) return;
    if (inputs_[i]->position() > offset) {
        executor_.post(lifetime_.guard([admitted] { admitted({}); }));
        return;
    }
    const auto id = inputs_[i]->waiters().add(offset, std::move(admitted));
    executor_.post_after(kAnswerTimeout, lifetime_.guard([this, i, id] {
        inputs_[i]->waiters().cut_off(
            id, {Fault::timed_out, "the fold did not come so far within 2 s"});
    }));
}

void BarrierQueries::refuse(Error why, const Answer& answer) {
    executor_.post(lifetime_.guard([why = std::move(why), answer] { answer(core::fail(why)); }));
}

void BarrierQueries::refuse_all(const Error& why) {
    const auto term = lifetime_.term();
    for (InputIndex i = 0; !term.over() && i < inputs_.size(); ++i) {
        inputs_[i]->waiters().refuse_all(why);
        if (!term.over() && inputs_[i]->has_barrier()) inputs_[i]->barrier().refuse_all(why);
    }
}

void BarrierQueries::ask_barriers(const std::vector<InputIndex>& of, Answer answer) {
    struct Asked {
        std::size_t missing;
        Answer answer;
    };
    const auto asked = std::make_shared<Asked>(Asked{of.size(), std::move(answer)});
    for (const auto i : of) {
        inputs_[i]->barrier().ask(lifetime_.guard([asked](const core::Result<void>& confirmed) {
            if (!asked->answer) return;  // it has its answer
            if (confirmed && --asked->missing > 0) return;
            std::exchange(asked->answer, {})(confirmed);
        }));
    }
}

/// Counts a query, and its outcome once it is answered. Empty: it was refused.
Answer BarrierQueries::admit(Answer answer) {
    if (waiting_ >= most_) {
        refuse({Fault::full, "too many queries wait for the fold"}, answer);
        return {};
    }
    ++waiting_;
    return lifetime_.guard([this, answer = std::move(answer)](const core::Result<void>& result) {
        --waiting_;
        answer(result);
    });
}

}  // namespace beckon::fold
