#pragma once

#include "core/clock.hpp"
#include "core/lifetime.hpp"
#include "net/io_loop.hpp"
#include "retry/attempt/http_sender.hpp"
#include "retry/attempt/request_maker.hpp"
#include "retry/schedule/fair_time.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace beckon::retry {

/// Makes and sends the requests of owners with an HttpSender on the loop's thread; those of the
/// owners that use most of that thread (FairTime) with another one, on a thread aside. So what many
/// or costly requests take of a processor delays nobody else's
/// (docs/decisions/0238-requests-of-owners-who-use-most-run-aside.md). Answers come on the
/// loop's thread in both cases.
///
/// Of the loop's thread, but for its construction. `aside` runs until it has been destroyed, which
/// waits for a turn there.
class FairSender {
public:
    FairSender(const HttpSender::Options& options, const core::Clock& clock, net::IoLoop& loop,
               net::IoLoop& aside, FairTime used = FairTime{});
    /// Aborts requests under way, without an answer.
    ~FairSender();
    FairSender(const FairSender&) = delete;
    FairSender& operator=(const FairSender&) = delete;

    /// Answers later, exactly once. Throws, and answers not, if making or
    /// beginning the request on the loop's thread throws.
    void send(RequestMaker maker, std::function<void(HttpAnswer)> done);
    /// The requests that were sent aside. Any thread.
    std::uint64_t sent_aside() const { return sent_aside_; }

private:
    class Aside;

    HttpRequest make_here(const RequestMaker& maker);
    void spend(const std::string& owner, core::Duration time);

    const core::Clock& clock_;
    FairTime used_;
    std::atomic<std::uint64_t> sent_aside_ = 0;
    core::Lifetime lifetime_;
    HttpSender here_;
    net::IoLoop& aside_loop_;
    std::unique_ptr<Aside> aside_;  ///< of the thread aside
};

}  // namespace beckon::retry
