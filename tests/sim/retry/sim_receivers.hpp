#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "retry/attempt/http_request.hpp"
#include "support/test_executor.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::sim {

/// The behaviour of a receiver.
enum class Mood : std::uint8_t {
    accepts,
    slow,       ///< accepts after a while
    refuses,    ///< 500
    throttles,  ///< 429, sometimes with Retry-After
    hangs,      ///< never answers
    breaks,     ///< takes the event, and the connection breaks before the answer
    down,       ///< no connection
    gone,       ///< 410
};
inline constexpr std::size_t kMoods = 8;
std::string_view to_string(Mood mood);

/// An attempt, as it leaves a process.
struct SimAttempt {
    core::NodeId by;
    std::string receiver;    ///< the host of its URL
    std::string delivery;    ///< webhook-id
    std::uint32_t made = 0;  ///< attempts before it
    std::string body;
};

/// All receivers of webhooks, and the network between them and the processes. They live on when a
/// process dies, and take what was on its way.
class SimReceivers {
public:
    struct Events {
        std::function<void(const SimAttempt&)> began;
        /// The receiver has the event and answers 2xx, whether or not somebody gets the answer.
        std::function<void(const SimAttempt&)> took;
        /// The process that made it gets this answer now, if it lives.
        std::function<void(const SimAttempt&, const retry::HttpAnswer&)> answered;
    };

    SimReceivers(test::SimExecutor& executor, const core::Clock& true_time, std::uint64_t seed,
                 Events events)
        : executor_(executor), clock_(true_time), random_(seed), events_(std::move(events)) {}

    void set_mood(const std::string& receiver, Mood mood) { moods_[receiver] = mood; }
    Mood mood_of(const std::string& receiver) const;

    using Answer = std::function<void(const retry::HttpAnswer&)>;
    void send(const core::NodeId& by, const retry::HttpRequest& request, Answer done);

private:
    struct Exchange {
        SimAttempt attempt;
        core::MonoTime began;
        core::Duration timeout;
        Answer done;
    };
    core::Duration up_to(core::Duration most);
    void arrive(const Exchange& exchange);
    void answer(const Exchange& exchange, core::Duration after, retry::HttpAnswer answer);

    test::SimExecutor& executor_;
    const core::Clock& clock_;
    std::mt19937_64 random_;
    const Events events_;
    std::map<std::string, Mood> moods_;
};

}  // namespace beckon::sim
