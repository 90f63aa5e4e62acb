#include "retry/node/topic_view.hpp"

#include "core/backoff.hpp"
#include "core/contain.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "core/partition.hpp"

#include <utility>
#include <vector>

namespace beckon::retry {

using core::Fault;

namespace {

/// A turn reads records of this size in all, about a millisecond; then others on the thread have
/// their turn.
constexpr std::size_t kViewTurnBytesMax = std::size_t{1} << 18;
constexpr std::size_t kViewRecordCosts = 512;  ///< as if it had so many bytes more
constexpr core::Duration kAskAgain = std::chrono::seconds{1};

}  // namespace

struct TopicView::Impl {
    Impl(Options o, log::EventLog& l, log::Publisher& p, core::Executor& x, Events e)
        : options(std::move(o)), log(l), publisher(p), executor(x), events(std::move(e)) {}

    struct Input {
        std::unique_ptr<log::PartitionReader> reader;
        std::unique_ptr<fold::ReadBarrier> barrier;
        bool caught_up = false;
        core::Offset next = 0;  ///< where to go on
        std::string fault;      ///< why it cannot be read
        core::Backoff again{kOpenAgain, kOpenAgainMost};
    };

    const Options options;
    log::EventLog& log;
    log::Publisher& publisher;
    core::Executor& executor;
    const Events events;
    std::vector<Input> inputs;
    std::size_t left = 0;  ///< inputs that have not caught up
    core::Lifetime lifetime{executor};

    log::TopicPartition where(std::size_t input) const {
        return {options.topic, static_cast<core::Partition>(input)};
    }
    void start(std::size_t input);
    void open(std::size_t input);
    void failed(std::size_t input, const core::Error& why);
    void works(Input& input);
    void read(std::size_t input);
    bool take(std::size_t input, std::size_t& bytes);
    void ask(std::size_t input);
    std::function<void()> guarded(std::size_t input, void (Impl::*what)(std::size_t)) {
        return lifetime.guard([this, input, what] { (this->*what)(input); });
    }
};

void TopicView::Impl::start(std::size_t index) {
    inputs[index].barrier =
        std::make_unique<fold::ReadBarrier>(where(index), options.node, publisher, executor);
    open(index);
    ask(index);
}

void TopicView::Impl::open(std::size_t index) {
    auto& input = inputs[index];
    if (input.reader) return;
    input.reader = log.open_reader(where(index), input.next, executor, guarded(index, &Impl::read));
}

void TopicView::Impl::failed(std::size_t index, const core::Error& why) {
    auto& input = inputs[index];
    const auto pause = input.again.pause();
    core::log_error(
        "retry", "topic_not_read",
        {{"topic", options.topic.name()},
         {"partition", index},
         {"why", why.message},
         {"again_in_ms", std::chrono::floor<std::chrono::milliseconds>(pause).count()}});
    // Another log than before: folding twice changes nothing.
    input.next = why.fault == Fault::out_of_range ? 0 : input.reader->position();
    input.reader.reset();
    input.fault = why.message;
    executor.post_after(pause, guarded(index, &Impl::open));
    events.changed();
}

void TopicView::Impl::works(Input& input) {
    input.again.worked();
    if (std::exchange(input.fault, {}).empty()) return;
    core::log_info("retry", "topic_read_again", {{"topic", options.topic.name()}});
    events.changed();
}

void TopicView::Impl::read(std::size_t index) {
    for (std::size_t bytes = 0; bytes < kViewTurnBytesMax;) {
        if (!take(index, bytes)) return;
    }
    executor.post(guarded(index, &Impl::read));
}

/// False: nothing more is there now.
bool TopicView::Impl::take(std::size_t index, std::size_t& bytes) {
    auto& input = inputs[index];
    if (!input.reader) return false;
    const auto taken = input.reader->take(1, [&](const auto& record) {
        bytes += kViewRecordCosts + (record.value ? record.value->size() : 0);
        core::fold_step([this] { return options.topic.name(); },
                        [&] { events.apply(static_cast<core::Partition>(index), record); });
    });
    if (!taken) {
        // Where it is only unavailable, `ready` comes.
        if (taken.error().fault != Fault::unavailable) failed(index, taken.error());
        return false;
    }
    works(input);
    input.barrier->passed(input.reader->position());
    return !taken->drained;
}

void TopicView::Impl::ask(std::size_t index) {
    inputs[index].barrier->ask(lifetime.guard([this, index](const core::Result<void>& passed) {
        if (!passed) return executor.post_after(kAskAgain, guarded(index, &Impl::ask));
        if (std::exchange(inputs[index].caught_up, true)) return;
        if (--left == 0) events.caught_up();
    }));
}

TopicView::TopicView(Options options, log::EventLog& log, log::Publisher& publisher,
                     core::Executor& executor, Events events)
    : impl_(
          std::make_unique<Impl>(std::move(options), log, publisher, executor, std::move(events))) {
    impl_->inputs.resize(static_cast<std::size_t>(impl_->options.partitions));
    impl_->left = impl_->inputs.size();
}

TopicView::~TopicView() = default;

void TopicView::start() {
    for (std::size_t p = 0; p < impl_->inputs.size(); ++p) {
        impl_->start(p);
    }
}

bool TopicView::caught_up() const { return impl_->left == 0; }

std::string TopicView::fault() const {
    for (std::size_t p = 0; p < impl_->inputs.size(); ++p) {
        const auto& why = impl_->inputs[p].fault;
        if (why.empty()) continue;
        return "cannot read " + impl_->options.topic.name() + ", partition " + std::to_string(p) +
               ": " + why;
    }
    return "";
}

void TopicView::confirm(std::string_view key, fold::ReadBarrier::Answer answer) {
    const auto partitions = static_cast<core::Partition>(impl_->inputs.size());
    confirm(core::partition_of(key, partitions), std::move(answer));
}

void TopicView::confirm(core::Partition partition, fold::ReadBarrier::Answer answer) {
    impl_->inputs[static_cast<std::size_t>(partition)].barrier->ask(std::move(answer));
}

}  // namespace beckon::retry
