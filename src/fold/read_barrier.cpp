#include "fold/read_barrier.hpp"

#include "core/contain.hpp"
#include "records/events.hpp"

#include <utility>
#include <vector>

namespace beckon::fold {

using core::Fault;

ReadBarrier::ReadBarrier(log::TopicPartition where, core::NodeId node, log::Publisher& publisher,
                         core::Executor& executor)
    : where_(where),
      node_(std::move(node)),
      publisher_(publisher),
      executor_(executor),
      lifetime_(executor) {}

void ReadBarrier::ask(Answer answer) {
    collecting_.push_back(std::move(answer));
    if (under_way_.empty()) publish();
}

void ReadBarrier::publish() {
    lifetime_.renew();
    executor_.post_after(kAnswerTimeout, lifetime_.guard([this] {
        if (under_way_.empty()) return;
        answer_all(core::fail(Fault::timed_out, "the read barrier was not read back within 2 s"));
    }));
    under_way_ = std::exchange(collecting_, {});
    barrier_at_.reset();
    // From here on the time-out answers, also if this throws.
    publisher_.publish(where_, core::encode(core::BarrierRecord{node_.text}),
                       lifetime_.guard([this](const auto& result) { reported(result); }));
}

void ReadBarrier::reported(const core::Result<log::Appended>& result) {
    if (under_way_.empty()) return;
    if (!result) {
        answer_all(core::fail(result.error()));
        return;
    }
    barrier_at_ = result->offset;
    if (passed_ > *barrier_at_) answer_all({});
}

void ReadBarrier::passed(core::Offset next) {
    passed_ = next;
    if (barrier_at_ && next > *barrier_at_ && !under_way_.empty()) answer_all({});
}

void ReadBarrier::refuse_all(const core::Error& why) {
    auto answers = std::exchange(under_way_, {});
    for (auto& answer : std::exchange(collecting_, {})) answers.push_back(std::move(answer));
    lifetime_.renew();
    for (const auto& answer : answers) answer(core::fail(why));
}

/// An answer may destroy this ReadBarrier: nothing of it is used once the answers are under way.
void ReadBarrier::answer_all(const core::Result<void>& result) {
    const auto answers = std::exchange(under_way_, {});
    std::vector<Answer> refused;
    if (!collecting_.empty() && !core::contain("read barrier", [this] { publish(); })) {
        refused = std::exchange(collecting_, {});
    }
    for (const auto& answer : answers) {
        core::contain("read barrier", [&] { answer(result); });
    }
    for (const auto& answer : refused) {
        core::contain("read barrier", [&] {
            answer(core::fail(Fault::unavailable, "the read barrier could not be published"));
        });
    }
}

}  // namespace beckon::fold
