#pragma once

#include "console/pages/topic_follower.hpp"
#include "console/pages/webhook_page.hpp"
#include "console/web/web_server.hpp"
#include "core/clock.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"
#include "retry/api/dead_selection.hpp"
#include "retry/dead/dead_index.hpp"
#include "retry/dead/resender.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace beckon::console {

/// The dead letters of all owners: the fold of `retry.dead`, and their redrive with the code of the
/// API of the role `retry`. Letters of webhooks that are gone, and of bridged messages, are not
/// shown. The executor's thread.
class DeadFold {
public:
    struct Context {
        log::EventLog& log;
        core::Executor& executor;
        std::shared_ptr<const WebhookPage> webhooks;
    };
    DeadFold(core::Partition partitions, Context context);

    /// The topics `webhooks` and `retry.dead` have been read to their end once.
    bool complete() const;
    retry::LetterList list(const retry::DeadPage& page) const;
    retry::LetterSelection select(const retry::DeadOrder& order) const;
    const retry::DeadIndex& index() const { return index_; }
    void redrive(const std::vector<retry::DeadLetter>& letters, retry::Resender::Done done);
    /// Calls `then` after a time, if this is still there.
    void after(core::Duration time, std::function<void()> then) {
        executor_.post_after(time, lifetime_.guard(std::move(then)));
    }
    core::Lifetime::Remote remote() const { return lifetime_.remote(); }

private:
    retry::LetterStanding standing(const retry::DeadLetter& letter) const;

    const std::shared_ptr<const WebhookPage> webhooks_;
    core::Executor& executor_;
    retry::DeadIndex index_;
    core::Lifetime lifetime_;
    const std::unique_ptr<log::Publisher> publisher_;
    retry::Resender resender_;
    TopicFollower follower_;  ///< last: it calls us
};

/// The console's page of dead letters: passes HTTP queries to the thread of the fold, which
/// answers. Any thread.
class DeadLetters {
public:
    DeadLetters() = default;
    DeadLetters(const DeadLetters&) = delete;
    DeadLetters& operator=(const DeadLetters&) = delete;

    /// Parameters and answer as GET /dead of the API has them.
    void list(const console::Parameters& asked, const console::Reply& reply);
    /// Redrives; `wanted` as the body of POST /dead/redrive of the API. The plan: {"matched",
    /// "disabled", "would_settle", "sample": [letters]}. Letters that come later than the plan are
    /// not part of it.
    console::Act redrive();

    /// Sets the fold; null: it has ended. On the fold's thread.
    void use(const std::shared_ptr<DeadFold>& fold);

private:
    using Planned = std::function<void(console::Plan)>;
    void ask(std::function<void(DeadFold&)> query, const console::Reply& reply);
    void check(const std::string& wanted, const Planned& planned);
    void run(const std::string& order, const std::string& by, const console::Reply& reply);

    std::mutex mutex_;
    std::weak_ptr<DeadFold> fold_;                  ///< under mutex_, as the next
    std::optional<core::Lifetime::Remote> remote_;  ///< of its thread
};

}  // namespace beckon::console
