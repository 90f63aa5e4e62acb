#include "fold/marker.hpp"

#include "core/codec.hpp"

#include <optional>
#include <string>
#include <utility>

namespace beckon::fold {

using core::Fault;

struct Marker::State : std::enable_shared_from_this<State> {
    State(log::TopicPartition w, core::NodeId n, log::Publisher& p, core::Executor& e,
          const core::Clock& c, core::LogClock* l)
        : where(w), node(std::move(n)), publisher(p), executor(e), clock(c), log_clock(l) {}

    const log::TopicPartition where;
    const core::NodeId node;
    log::Publisher& publisher;
    core::Executor& executor;
    const core::Clock& clock;
    core::LogClock* const log_clock;

    std::vector<Answer> collecting;       ///< wait for the next mark
    std::vector<Answer> under_way;        ///< wait for the published one; not empty = a mark is out
    std::optional<core::Offset> mark_at;  ///< of the mark under way, once its report came
    core::Offset passed = 0;
    std::uint64_t generation = 0;  ///< of the mark under way; stale reports and timers compare it

    void publish();
    void reported(std::uint64_t of, core::MonoTime sent, const core::Result<log::Appended>& result);
    void settle(const core::Result<void>& result);
};

void Marker::State::publish() {
    under_way = std::exchange(collecting, {});
    mark_at.reset();
    const auto of = ++generation;
    const auto sent = clock.mono();
    publisher.publish(where, core::encode(core::Mark{node.text}),
                      [weak = weak_from_this(), of, sent](const auto& result) {
                          if (const auto self = weak.lock()) self->reported(of, sent, result);
                      });
    executor.post_after(kTimeout, [weak = weak_from_this(), of] {
        const auto self = weak.lock();
        if (!self || self->generation != of || self->under_way.empty()) return;
        self->settle(core::fail(Fault::timed_out, "the mark was not read back within 2 s"));
    });
}

void Marker::State::reported(std::uint64_t of, core::MonoTime sent,
                             const core::Result<log::Appended>& result) {
    if (result && log_clock) log_clock->learn(result->time, sent);
    if (of != generation || under_way.empty()) return;
    if (!result) {
        settle(core::fail(result.error()));
        return;
    }
    mark_at = result->offset;
    if (passed > *mark_at) settle({});
}

void Marker::State::settle(const core::Result<void>& result) {
    const auto answers = std::exchange(under_way, {});
    if (!collecting.empty()) publish();
    for (const auto& answer : answers) answer(result);
}

Marker::Marker(log::TopicPartition where, const core::NodeId& node, log::Publisher& publisher,
               core::Executor& executor, const core::Clock& clock, core::LogClock* log_clock)
    : state_(std::make_shared<State>(where, node, publisher, executor, clock, log_clock)) {}

Marker::~Marker() = default;

void Marker::ask(Answer answer) {
    state_->collecting.push_back(std::move(answer));
    if (state_->under_way.empty()) state_->publish();
}

void Marker::passed(core::Offset next) {
    const auto state = state_;  // an answer may destroy this Marker
    state->passed = next;
    if (state->mark_at && next > *state->mark_at && !state->under_way.empty()) state->settle({});
}

std::size_t Marker::unanswered() const {
    return state_->collecting.size() + state_->under_way.size();
}

}  // namespace beckon::fold
