#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "fold/failures.hpp"
#include "fold/input.hpp"
#include "log/event_log.hpp"

#include <functional>
#include <utility>

namespace beckon::fold {

/// Asks for the ends of all inputs now and then while they are read, so that progress knows how
/// much is left, and whether each is still the partition that was read until now.
class EndsWatch {
public:
    static constexpr core::Duration kEvery = std::chrono::seconds{10};

    struct Context {
        log::EventLog& log;
        core::Executor& executor;
        const core::Clock& clock;
        Failures& failures;
    };
    /// `made_anew` is called once an input is another partition; it may call cancel().
    EndsWatch(Inputs& inputs, const Context& context, std::function<void(InputIndex)> made_anew)
        : inputs_(inputs),
          context_(context),
          made_anew_(std::move(made_anew)),
          lifetime_(context.executor) {}

    /// All inputs have just learned their ends.
    void begin() { asked_ = context_.clock.mono(); }
    /// Answers that are under way are void.
    void cancel() { lifetime_.renew(); }
    /// Call it every second.
    void update();

private:
    void ask(InputIndex input);
    void ask_identity(InputIndex input);
    void confirmed(InputIndex input, const log::ReadUpTo& read);
    void failed(InputIndex input, const core::Error& why);

    Inputs& inputs_;
    const Context context_;
    const std::function<void(InputIndex)> made_anew_;
    core::MonoTime asked_{};
    core::Lifetime lifetime_;
};

}  // namespace beckon::fold
