#include "fold/intake.hpp"

#include <algorithm>
#include <utility>

namespace beckon::fold {

namespace {

constexpr std::size_t kRecordCosts = 512;  ///< as if it had so many bytes more

}  // namespace

Intake::Intake(Inputs& inputs, const Limits& limits, const Context& context, core::Backoff retry,
               std::function<void()> ready)
    : inputs_(inputs),
      limits_(limits),
      context_(context),
      ready_(std::move(ready)),
      retry_(retry),
      lifetime_(context.executor) {}

void Intake::open_all() {
    retries_.assign(inputs_.size(), retry_);
    for (InputIndex i = 0; i < inputs_.size(); ++i) open(i);
}

void Intake::open(InputIndex i) {
    auto& input = *inputs_[i];
    auto reader = context_.log.open_reader(input.where(), input.replayed(), context_.executor,
                                           lifetime_.guard([this] { ready_(); }));
    if (limits_.applies_backpressure) reader->applies_backpressure();
    input.read_with(std::move(reader));
    ready_();
}

void Intake::close() {
    lifetime_.renew();
    for (const auto& input : inputs_) input->stop_reading();
}

core::Result<bool> Intake::turn() {
    const auto until = context_.clock.mono() + limits_.time;
    std::vector<std::size_t> budgets(inputs_.size(), limits_.records);
    first_ = (first_ + 1) % inputs_.size();
    bool cut_off = false;  // the turn was over before each input had a chunk
    bytes_ = 0;
    for (bool more = true; more && !cut_off;) {
        more = false;
        for (std::size_t n = 0; n < inputs_.size() && !cut_off; ++n) {
            const auto i = (first_ + n) % inputs_.size();
            auto taken = take(i, budgets[i]);
            if (!taken) return taken;
            more = *taken || more;
            cut_off =
                context_.clock.mono() > until || (limits_.bytes > 0 && bytes_ >= limits_.bytes);
        }
    }
    for (InputIndex i = 0; i < inputs_.size(); ++i) report_end(i);
    return cut_off || std::any_of(inputs_.begin(), inputs_.end(),
                                  [](const auto& input) { return input->has_more(); });
}

/// One chunk; true if this input has more, and budget left.
core::Result<bool> Intake::take(InputIndex i, std::size_t& budget) {
    auto& input = *inputs_[i];
    if (!input.reading() || budget == 0) return false;
    const auto max = limits_.bytes > 0 ? std::min<std::size_t>(budget, 1) : budget;
    const auto taken = input.take(max, [this, i](const core::RecordView& record) {
        bytes_ += kRecordCosts + (record.value ? record.value->size() : 0);
        context_.state.replay(i, record);
    });
    if (!taken) {
        budget = 0;
        if (const auto goes_on = not_read(i, taken.error()); !goes_on) {
            return core::fail(goes_on.error());
        }
        return false;
    }
    context_.failures.worked(Need::read, i);
    retries_[i].worked();
    budget = taken->drained ? 0 : budget - std::min(budget, taken->records);
    return budget > 0;
}

core::Result<void> Intake::not_read(InputIndex i, const core::Error& why) {
    if (why.fault == core::Fault::out_of_range) return core::fail(why);
    context_.failures.failed(Need::read, i, why);
    if (why.retryable()) return {};  // `ready` comes, or the next second
    // This reader is useless; perhaps another one is not.
    inputs_[i]->stop_reading();
    context_.executor.post_after(retries_[i].pause(), lifetime_.guard([this, i] { open(i); }));
    return {};
}

void Intake::report_end(InputIndex i) {
    auto& input = *inputs_[i];
    if (!input.moved() && !input.end_report_is_due()) return;
    const bool at_end = input.at_end();
    context_.state.advance(i, input.replayed(),
                           at_end ? std::optional{input.log_clock().now()} : std::nullopt,
                           input.youngest());
    input.reported(at_end);
}

}  // namespace beckon::fold
