#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "core/executor.hpp"
#include "fold/topic_state.hpp"
#include "log/event_log.hpp"
#include "records/sender_rule.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::fold {

/// The rules of an operator about senders: a fold of `control` in memory, which each process that
/// takes messages or events follows. While the log does not answer, the rules of before count.
/// Made, used and destroyed on the executor's thread, except where it says otherwise.
class SenderRules {
public:
    struct Context {
        log::EventLog& log;
        core::Executor& executor;
        const core::Clock& clock;
    };
    /// `folder`: that log lines name.
    SenderRules(std::string_view folder, const Context& context);

    /// Whether there is a rule at all; costs nothing. Any thread.
    bool any() const { return any_; }
    /// `name`: as BlockedSender::name. Any thread.
    bool blocks(core::SenderKind kind, std::string_view name) const;
    /// Messages a second; 0: no limit. Any thread.
    std::uint32_t limit(core::SenderKind kind) const;
    /// Any thread.
    std::vector<core::BlockedSender> blocked() const;

private:
    using Name = std::pair<core::SenderKind, std::string>;
    struct Rules {
        std::map<Name, core::BlockedSender> blocked;
        core::ByEnum<core::SenderKind, std::uint32_t> limits{};
    };

    void apply(const core::RecordView& record);
    void use_read();

    bool reading_all_ = true;
    Rules read_;  ///< while all is read, at the start and after records were missed
    std::atomic<bool> any_{false};
    mutable std::mutex mutex_;
    Rules rules_;       ///< under mutex_
    TopicState state_;  ///< first to go: it calls us
};

}  // namespace beckon::fold
