#include "log/log_watch.hpp"

#include "core/lifetime.hpp"

#include <memory>
#include <utility>

namespace beckon::log {

LogWatch::LogWatch(const Options& options, core::Executor& executor, const core::Clock& clock,
                   Probes probes, Changed changed)
    : options_(options),
      executor_(executor),
      clock_(clock),
      probes_(std::move(probes)),
      changed_(std::move(changed)),
      lifetime_(executor) {}

void LogWatch::start() { tick(); }

void LogWatch::tick() {
    executor_.post_after(options_.interval, lifetime_.guard([this] { tick(); }));
    auto why = lasting_failure();
    if (why != reported_) {
        reported_ = std::move(why);
        changed_(reported_);
    }
    ask();
}

/// One query at a time: a log that does not answer is not asked again before it does, or before
/// the answer must have been lost.
void LogWatch::ask() {
    const auto now = clock_.mono();
    if (asked_ && now - asked_last_ < options_.lost_after) return;
    if (!asked_) asked_ = now;
    asked_last_ = now;
    const auto kind = [this] {
        const std::scoped_lock lock{mutex_};
        return unwritable_ ? Kind::write : Kind::reach;
    }();
    const auto answer =
        lifetime_.guard([this, kind](const core::Result<void>& result) { answered(kind, result); });
    (kind == Kind::write ? probes_.write : probes_.reach)(answer);
}

/// A log that did not answer failed all the while.
void LogWatch::answered(Kind kind, const core::Result<void>& answer) {
    const auto asked = std::exchange(asked_, std::nullopt).value_or(clock_.mono());
    note(kind, answer ? std::nullopt : std::optional{answer.error()}, asked);
}

void LogWatch::published(const std::optional<core::Error>& error) {
    if (error ? !error->retryable() : !failing_.load(std::memory_order_relaxed)) return;
    note(Kind::write, error, clock_.mono());
}

void LogWatch::note(Kind kind, const std::optional<core::Error>& error, core::MonoTime since) {
    const std::scoped_lock lock{mutex_};
    auto& failure = kind == Kind::write ? unwritable_ : unreachable_;
    if (!error) {
        failure.reset();
        if (kind == Kind::write) unreachable_.reset();  // a log that accepts records can be reached
    } else if (!failure) {
        failure = Failure{since, error->message};
    }
    failing_.store(unreachable_ || unwritable_, std::memory_order_relaxed);
}

std::string LogWatch::lasting_failure() const {
    const auto now = clock_.mono();
    const std::scoped_lock lock{mutex_};
    for (const auto* failure : {&unwritable_, &unreachable_}) {
        if (*failure && now - (*failure)->since >= options_.grace) return (*failure)->why;
    }
    if (asked_ && now - *asked_ >= options_.grace) return "the log does not answer";
    return {};
}

std::function<void(LogWatch::Answer)> ask_ends(TopicPartition where, EventLog& log,
                                               core::Executor& executor) {
    const auto lifetime = std::make_shared<core::Lifetime>(executor);  // as long as the query
    return [where, &log, lifetime](LogWatch::Answer answer) {
        core::ask_while(
            *lifetime,
            [&](core::Executor& lasting, auto callback) {
                log.ends(where, lasting, std::move(callback));
            },
            [answer = std::move(answer)](const core::Result<Ends>& ends) {
                answer(ends ? core::Result<void>{} : core::Result<void>{core::fail(ends.error())});
            });
    };
}

}  // namespace beckon::log
