#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "fold/failures.hpp"
#include "fold/input.hpp"
#include "log/event_log.hpp"

namespace beckon::fold {

/// Asks for the ends of all inputs now and then while they are read, so that progress knows how
/// much is left.
class EndsWatch {
public:
    static constexpr core::Duration kEvery = std::chrono::seconds{10};

    struct Context {
        log::EventLog& log;
        core::Executor& executor;
        const core::Clock& clock;
        Failures& failures;
    };
    EndsWatch(Inputs& inputs, const Context& context)
        : inputs_(inputs), context_(context), lifetime_(context.executor) {}

    /// All inputs have just learned their ends.
    void begin() { asked_ = context_.clock.mono(); }
    /// Answers that are under way are void.
    void cancel() { lifetime_.renew(); }
    /// Call it every second.
    void update();

private:
    void ask(InputIndex input);

    Inputs& inputs_;
    const Context context_;
    core::MonoTime asked_{};
    core::Lifetime lifetime_;
};

}  // namespace beckon::fold
