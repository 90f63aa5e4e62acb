#pragma once

#include "core/milestone.hpp"
#include "reliability/history/milestone_codec.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace beckon::reliability {

/// The milestones of a process that are not written yet: one entry for each message, so that the
/// milestones that it reaches within a moment become one record. Bounded: milestones that do not
/// fit are dropped and counted. Thread-safe; a call costs a short lock and no more than one
/// allocation or two.
class MilestoneQueue final : public core::MilestoneSink {
public:
    static constexpr std::size_t kParts = 16;  ///< each with a lock of its own
    /// So many messages wait for no others.
    static constexpr std::size_t kFullBatch = 1'000;

    struct Options {
        std::string source;  ///< node id, stands in every event
        std::size_t messages_max = 64'000;
    };

    /// `woken` runs when something is there after nothing was, and when kFullBatch messages are; on
    /// the thread that brought it.
    MilestoneQueue(Options options, const core::Clock& clock, std::function<void()> woken);

    void reached(std::string_view id, Timestamp expires, Milestone milestone,
                 Timestamp at) noexcept override;
    void reached(std::string_view id, Timestamp expires, Milestone milestone) noexcept override;
    void reached_then(std::string_view id, Timestamp expires, Milestone milestone,
                      Done done) noexcept override;

    struct Taken {
        MilestonesReached event;
        std::vector<Done> done;  ///< to be called when the event is written, or was tried
    };
    /// Takes up to `max` messages. A call that takes fewer than `max` has emptied the queue, and
    /// the next milestone wakes the writer again.
    std::vector<Taken> take(std::size_t max);
    /// Requeues an entry that could not be written, if there is space.
    void requeue(const MilestonesReached& event) noexcept;

    std::uint64_t recorded() const { return recorded_.load(std::memory_order_relaxed); }
    std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
    /// Milestones that were lost otherwise.
    void count_dropped(std::size_t milestones) { dropped_ += milestones; }
    /// Messages that wait.
    std::size_t size() const;

private:
    struct Hash {
        using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };
    struct Waiting {
        Timestamp expires{};
        std::vector<Reached> reached;
        std::vector<Done> done;
    };
    struct Part {
        mutable std::mutex mutex;
        std::unordered_map<std::string, Waiting, Hash, std::equal_to<>> messages;
    };

    /// False if there is no space. `done` may be null; it is taken if true.
    bool add(std::string_view id, Timestamp expires, const Reached& reached, Done* done);
    /// False: dropped.
    bool record(std::string_view id, Timestamp expires, const Reached& reached,
                Done* done) noexcept;
    void wake();
    Part& part_of(std::string_view id) { return parts_[Hash{}(id) % kParts]; }

    const Options options_;
    const core::Clock& clock_;
    const std::function<void()> woken_;
    std::array<Part, kParts> parts_;
    std::atomic<std::size_t> waiting_ = 0;
    std::atomic<bool> awake_ = false;
    std::atomic<bool> batch_is_full_ = false;  ///< and the writer has not been woken for it
    std::atomic<std::uint64_t> recorded_ = 0;
    std::atomic<std::uint64_t> dropped_ = 0;
};

}  // namespace beckon::reliability
