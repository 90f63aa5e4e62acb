#include "retry/attempt/fair_sender.hpp"

#include "core/contain.hpp"
#include "core/thread_time.hpp"

#include <chrono>
#include <future>
#include <map>
#include <string>
#include <utility>

namespace beckon::retry {

namespace {

/// What is used aside is told so often, for all owners together.
constexpr core::Duration kTells = std::chrono::milliseconds{20};

template <class Used>
HttpSender::Options reporting_to(HttpSender::Options options, Used used) {
    options.used = std::move(used);
    return options;
}

/// Adds to what an owner uses the time of this thread until the end of a scope.
template <class Used>
class Charged {
public:
    Charged(const Used& used, const std::string& owner) : used_(used), owner_(owner) {}
    ~Charged() { used_(owner_, core::thread_time() - since_); }
    Charged(const Charged&) = delete;
    Charged& operator=(const Charged&) = delete;

private:
    const Used& used_;
    const std::string& owner_;
    const core::Duration since_ = core::thread_time();
};

}  // namespace

/// The sender of the thread aside, which begins there with its first request.
class FairSender::Aside {
public:
    using Tell = std::function<void(std::map<std::string, core::Duration>)>;

    /// `tell`: any thread.
    Aside(HttpSender::Options options, net::IoLoop& loop, Tell tell)
        : options_(reporting_to(std::move(options),
                                [this](const auto& owner, auto time) { note(owner, time); })),
          loop_(loop),
          tell_(std::move(tell)) {}

    void send(const RequestMaker& maker, const std::function<void(HttpAnswer)>& done) {
        const auto begun = core::contain("retry aside", [&] {
            if (!open_) open_ = std::make_unique<Open>(options_, loop_);
            open_->sender.send(make(maker), done);
        });
        if (!begun) done({.end = HttpAnswer::End::unsendable, .why = "it could not be begun"});
    }

private:
    struct Open {
        Open(const HttpSender::Options& options, net::IoLoop& loop)
            : lifetime(loop), sender(options, loop) {}
        core::Lifetime lifetime;
        HttpSender sender;
    };

    HttpRequest make(const RequestMaker& maker) {
        const auto used = [this](const auto& owner, auto time) { note(owner, time); };
        const Charged charged{used, maker.owner};
        return maker.make(SendThread::aside);
    }

    void note(const std::string& owner, core::Duration time) {
        if (used_.empty()) {
            loop_.post_after(kTells,
                             open_->lifetime.guard([this] { tell_(std::exchange(used_, {})); }));
        }
        used_[owner] += time;
    }

    const HttpSender::Options options_;
    net::IoLoop& loop_;
    const Tell tell_;
    std::map<std::string, core::Duration> used_;  ///< not told yet
    std::unique_ptr<Open> open_;
};

FairSender::FairSender(const HttpSender::Options& options, const core::Clock& clock,
                       net::IoLoop& loop, net::IoLoop& aside, FairTime used)
    : clock_(clock),
      used_(std::move(used)),
      lifetime_(loop),
      here_(reporting_to(options, [this](const auto& owner, auto time) { spend(owner, time); }),
            loop),
      aside_loop_(aside) {
    const auto remote = lifetime_.remote();
    aside_ = std::make_unique<Aside>(options, aside, [this, remote](auto more) {
        remote.post([this, more = std::move(more)] {
            for (const auto& [owner, time] : more) spend(owner, time);
        });
    });
}

FairSender::~FairSender() {
    lifetime_.end();
    std::promise<void> ended;
    aside_loop_.post([this, &ended] {
        aside_.reset();
        ended.set_value();
    });
    ended.get_future().wait();
}

void FairSender::spend(const std::string& owner, core::Duration time) {
    used_.spend(owner, time, clock_.mono());
}

HttpRequest FairSender::make_here(const RequestMaker& maker) {
    const auto used = [this](const auto& owner, auto time) { spend(owner, time); };
    const Charged charged{used, maker.owner};
    return maker.make(SendThread::own);
}

void FairSender::send(RequestMaker maker, std::function<void(HttpAnswer)> done) {
    if (!used_.is_beyond_part(maker.owner, clock_.mono())) {
        return here_.send(make_here(maker), std::move(done));
    }
    ++sent_aside_;
    const auto back = [remote = lifetime_.remote(), done = std::move(done)](HttpAnswer answer) {
        remote.post([done, answer = std::move(answer)] { done(answer); });
    };
    aside_loop_.post(
        [aside = aside_.get(), maker = std::move(maker), back] { aside->send(maker, back); });
}

}  // namespace beckon::retry
