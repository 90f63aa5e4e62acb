#include "fold/topic_state.hpp"

#include "core/assert.hpp"
#include "core/contain.hpp"

namespace beckon::fold {

namespace {

/// A turn applies records of this size in all, about a millisecond; then others on the thread have
/// their turn.
constexpr std::size_t kTurnBytesMax = std::size_t{1} << 18;
constexpr core::Duration kTurnTime = std::chrono::milliseconds{1};
constexpr core::Duration kReplaceMost = std::chrono::seconds{30};

/// The publisher of a state without read barriers, which publishes nothing.
struct NoPublisher final : log::Publisher {
    void publish(log::TopicPartition, core::Record, log::AppendDone) override {
        BECKON_ASSERT(false, "a state without a publisher writes nothing");
    }
    std::size_t unanswered() const override { return 0; }
};

log::Publisher& publisher_of(const TopicState::Context& context) {
    static NoPublisher none;
    return context.publisher ? *context.publisher : none;
}

}  // namespace

TopicState::TopicState(Options options, const Context& context, Events events)
    : options_(std::move(options)),
      events_(std::move(events)),
      fold_({.folder = options_.folder,
             .inputs = options_.inputs,
             .node = options_.node,
             .group = {},
             .turn_time = kTurnTime,
             .turn_bytes = kTurnBytesMax,
             .proof = options_.proof,
             .replace_most = kReplaceMost},
            {context.log, publisher_of(context), context.executor, context.clock}, *this) {
    BECKON_ASSERT(context.publisher || options_.proof == Proof::end, "a barrier is a record");
}

std::string TopicState::fault() const {
    const auto& stuck = fold_.stuck();
    if (!stuck) return {};
    return "cannot read " + options_.inputs.front().topic.name() + ": " + stuck->why;
}

void TopicState::confirm(std::string_view key, Answer answer) {
    const auto partitions = static_cast<core::Partition>(options_.inputs.size());
    confirm(core::partition_of(key, partitions), std::move(answer));
}

/// A page of the console that lacks a record is better than the end of a process that serves
/// others: so an exception of a state without barriers is contained.
void TopicState::replay(InputIndex input, const core::RecordView& record) {
    const auto apply = [&] { events_.apply(options_.inputs[input], record); };
    if (options_.proof == Proof::barrier) return apply();
    core::contain(options_.folder, apply);
}

core::Result<void> TopicState::clear() {
    events_.cleared();
    return {};
}

}  // namespace beckon::fold
