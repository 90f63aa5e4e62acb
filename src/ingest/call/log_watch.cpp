#include "ingest/call/log_watch.hpp"

#include <utility>

namespace beckon::ingest {

LogWatch::LogWatch(const Options& options, core::Executor& executor, const core::Clock& clock,
                   Questions questions, Changed changed)
    : options_(options),
      executor_(executor),
      clock_(clock),
      questions_(std::move(questions)),
      changed_(std::move(changed)),
      lifetime_(executor) {}

void LogWatch::start() { tick(); }

void LogWatch::tick() {
    executor_.post_after(options_.interval, lifetime_.guard([this] { tick(); }));
    auto why = trouble_that_lasts();
    if (why != reported_) {
        reported_ = std::move(why);
        changed_(reported_);
    }
    ask();
}

/// One question at a time: a log that does not answer is not asked again before it does.
void LogWatch::ask() {
    if (asked_) return;
    asked_ = clock_.mono();
    const auto kind = [this] {
        const std::scoped_lock lock{mutex_};
        return unwritable_ ? Kind::write : Kind::reach;
    }();
    const auto answer =
        lifetime_.guard([this, kind](const core::Result<void>& result) { answered(kind, result); });
    (kind == Kind::write ? questions_.write : questions_.reach)(answer);
}

/// A log that did not answer was in trouble all the while.
void LogWatch::answered(Kind kind, const core::Result<void>& answer) {
    const auto asked = std::exchange(asked_, std::nullopt).value_or(clock_.mono());
    note(kind, answer ? std::nullopt : std::optional{answer.error()}, asked);
}

void LogWatch::published(const std::optional<core::Error>& error) {
    if (error ? !error->retryable() : !troubled_.load(std::memory_order_relaxed)) return;
    note(Kind::write, error, clock_.mono());
}

void LogWatch::note(Kind kind, const std::optional<core::Error>& error, core::MonoTime since) {
    const std::scoped_lock lock{mutex_};
    auto& trouble = kind == Kind::write ? unwritable_ : unreachable_;
    if (!error) {
        trouble.reset();
        if (kind == Kind::write) unreachable_.reset();  // what takes records can be reached
    } else if (!trouble) {
        trouble = Trouble{since, error->message};
    }
    troubled_.store(unreachable_ || unwritable_, std::memory_order_relaxed);
}

std::string LogWatch::trouble_that_lasts() const {
    const auto now = clock_.mono();
    const std::scoped_lock lock{mutex_};
    for (const auto* trouble : {&unwritable_, &unreachable_}) {
        if (*trouble && now - (*trouble)->since >= options_.grace) return (*trouble)->why;
    }
    if (asked_ && now - *asked_ >= options_.grace) return "the log does not answer";
    return {};
}

}  // namespace beckon::ingest
