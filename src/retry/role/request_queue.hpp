#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace beckon::retry {

/// The requests of the API: on their way from the connections to the thread that answers them,
/// under way there, and until their replies are written. Owners take turns by deficit round robin
/// over the time that their requests take on that thread (RoundRobin): however many requests of
/// others are queued, an owner that needs little waits for the one that is being served.
///
/// Requests under way, their bodies until they are answered, and the replies that are not written
/// yet have a bound each. An owner may hold a share of what is free (OwnerBudget): beyond it its
/// requests are refused, and while its replies hold their share its queued requests wait. So an
/// owner that does not read its replies, or whose requests wait for its receivers, leaves space to
/// the others.
///
/// Any thread. The executor and the clock outlive it and its places.
class RequestQueue {
    struct State;

public:
    static constexpr std::size_t kBytesMax = std::size_t{32} << 20;
    static constexpr std::size_t kReplyBytesMax = std::size_t{64} << 20;

    struct Limits {
        std::size_t requests_max = 1'024;
        std::size_t bytes_max = kBytesMax;
        std::size_t reply_bytes_max = kReplyBytesMax;
    };

    /// A request that is under way, until the last copy is gone. Any thread.
    class Place {
    public:
        Place(std::shared_ptr<State> state, std::string owner, std::size_t bytes)
            : state_(std::move(state)), owner_(std::move(owner)), bytes_(bytes) {}
        ~Place();
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;
        /// Its reply holds so much memory from now on. Once.
        void replies(std::size_t bytes);

    private:
        const std::shared_ptr<State> state_;
        const std::string owner_;
        std::size_t bytes_;  ///< of the request, while it is not answered
        std::size_t reply_bytes_ = 0;
    };
    using PlacePtr = std::shared_ptr<Place>;
    /// On the executor's thread.
    using Work = std::function<void(const PlacePtr&)>;

    RequestQueue(core::Executor& to, const core::Clock& clock, Limits limits);
    /// Nothing that is queued runs any more.
    ~RequestQueue();
    RequestQueue(const RequestQueue&) = delete;
    RequestQueue& operator=(const RequestQueue&) = delete;

    /// Runs `work` there in the owner's turn. False: the owner holds its share, and the request is
    /// not taken.
    [[nodiscard]] bool put(const std::string& owner, std::size_t bytes, Work work);

private:
    std::shared_ptr<State> state_;
};

}  // namespace beckon::retry
