#pragma once

#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "fold/input.hpp"

#include <cstddef>
#include <vector>

namespace beckon::fold {

/// The queries to a fold: whether read barriers have passed, and when an offset is folded. Every
/// query is answered once, unless the fold ends; none before the call that asked has returned.
class BarrierQueries {
public:
    /// More than `most` queries without an answer are refused as `full`.
    BarrierQueries(Inputs& inputs, core::Executor& executor, std::size_t most);

    /// Answered once a read barrier of ours has passed on each of `of`.
    void confirm(const std::vector<InputIndex>& of, Answer answer);
    /// Answered once the turn of the record at `offset` has ended, or after kAnswerTimeout.
    void when_folded(InputIndex input, core::Offset offset, Answer answer);
    void refuse(core::Error why, const Answer& answer);
    /// Answers all that wait; any answer may destroy this.
    void refuse_all(const core::Error& why);

    /// A query of the fold itself, which is not counted. The first failure is the answer.
    void ask_barriers(const std::vector<InputIndex>& of, Answer answer);

private:
    Answer admit(Answer answer);

    Inputs& inputs_;
    core::Executor& executor_;
    const std::size_t most_;
    std::size_t waiting_ = 0;
    core::Lifetime lifetime_;
};

}  // namespace beckon::fold
