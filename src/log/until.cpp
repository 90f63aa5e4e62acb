#include "log/until.hpp"

#include "core/backoff.hpp"
#include "core/contain.hpp"
#include "core/lifetime.hpp"

#include <memory>
#include <utility>

namespace beckon::log {

namespace {

struct Writing {
    Until owner;
    Publisher& publisher;
    TopicPartition where;
    std::function<core::Record()> make;
    std::function<void(const Appended&)> written;
    std::function<void(const core::Error&)> failed;
    core::Backoff backoff{owner.pause_first, owner.pause_most};
};
using WritingPtr = std::shared_ptr<Writing>;

void publish(const WritingPtr& one);

void publish_later(const WritingPtr& one) {
    one->owner.executor.post_after(one->backoff.pause(), one->owner.lifetime.guard([one] {
        if (!core::contain("log", [&] { publish(one); })) publish_later(one);
    }));
}

void publish(const WritingPtr& one) {
    one->publisher.publish(one->where, one->make(),
                           one->owner.lifetime.guard([one](const core::Result<Appended>& at) {
                               if (at) return one->written(*at);
                               publish_later(one);
                               if (one->failed) one->failed(at.error());
                           }));
}

}  // namespace

void until_written(const Until& owner, Publisher& publisher, TopicPartition where,
                   std::function<core::Record()> make, std::function<void(const Appended&)> written,
                   std::function<void(const core::Error&)> failed) {
    publish(std::make_shared<Writing>(
        Writing{owner, publisher, where, std::move(make), std::move(written), std::move(failed)}));
}

namespace {

void ask(const Until& owner, EventLog& log, TopicPartition where, core::Backoff backoff,
         std::function<void(const core::Result<Ends>&)> known) {
    core::ask_while(
        owner.lifetime,
        [&](core::Executor& lasting, auto done) { log.ends(where, lasting, std::move(done)); },
        [owner, &log, where, backoff, known](const core::Result<Ends>& ends) mutable {
            if (ends || !ends.error().retryable()) return known(ends);
            const auto pause = backoff.pause();
            owner.executor.post_after(pause,
                                      owner.lifetime.guard([owner, &log, where, backoff, known] {
                                          ask(owner, log, where, backoff, known);
                                      }));
        });
}

}  // namespace

void until_known(const Until& owner, EventLog& log, TopicPartition where,
                 std::function<void(const core::Result<Ends>&)> known) {
    ask(owner, log, where, {owner.pause_first, owner.pause_most}, std::move(known));
}

}  // namespace beckon::log
