#pragma once

#include "bench/load/histogram.hpp"
#include "bench/load/loop.hpp"
#include "bench/load/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace beckon::bench {

/// When a slow message was due, from the start of measuring on, and how long its steps took.
struct SlowMessage {
    Nanos at = 0;
    Nanos to_reply = 0;  ///< 0: its frame came before its 201
    Nanos to_frame = 0;
};

/// The outcomes of messages.
struct Tally {
    static constexpr std::size_t kSlowest = 16;

    // Messages issued while it was measured, whenever they ended.
    std::uint64_t posted = 0;
    std::uint64_t accepted = 0;    ///< answered 2xx
    std::uint64_t delivered = 0;   ///< accepted ones whose frame came
    std::uint64_t missing = 0;     ///< accepted ones whose frame did not come in time: 0 or a fault
    std::uint64_t unanswered = 0;  ///< the connection ended before the reply
    std::map<int, std::uint64_t> refused;  ///< by status
    std::uint64_t duplicates = 0;          ///< their frames after the first
    // Events while it was measured.
    std::uint64_t frames = 0;   ///< first deliveries
    std::uint64_t foreign = 0;  ///< frames of other runs

    /// The slowest to their frame, by `at`: whether they came together, and whether the log or the
    /// delivery was slow.
    std::vector<SlowMessage> slowest;

    Histogram to_reply;     ///< from when the POST was due to its 201
    Histogram to_frame;     ///< from when the POST was due to its frame
    Histogram after_reply;  ///< from the 201 to the frame; 0 if the frame came first
    Histogram behind;  ///< from when the POST was due to when it left: the generator's own part
};

/// Remembers every message from its POST to its frame, in a ring. One thread.
class Ledger {
public:
    /// Messages that can be under way at once; an older one counts as missing.
    static constexpr std::uint32_t kFollowedMax = 1U << 19;

    explicit Ledger(std::uint32_t run);

    /// Issues a new message, due at `due`; returns its sequence number.
    std::uint32_t issue(Nanos due);
    void left(std::uint32_t sequence, Nanos now);
    void answered(std::uint32_t sequence, int status, Nanos now);
    void unanswered(std::uint32_t sequence);
    /// True if this is the first frame of the message.
    bool delivered(Token token, Nanos now);
    /// A frame that no generator made.
    void foreign() { ++tally_.foreign; }

    /// Messages whose reply, or whose frame, is still to come.
    std::uint64_t unreplied() const { return unreplied_; }
    std::uint64_t undelivered() const { return undelivered_; }

    /// Forgets all counts; messages and events count from now on.
    void start(Nanos now = 0);
    /// From now on new messages and events do not count; those issued before go on counting.
    void stop() { measuring_ = false; }
    /// The measured counts; accepted messages whose frame has not come are missing.
    Tally result() const;

private:
    struct Slot {
        Nanos due = 0;
        Nanos replied_at = 0;
        std::uint32_t sequence = 0;
        bool live = false;
        bool measured = false;
        bool accepted = false;
        bool delivered = false;
        bool replied = false;
    };
    Slot* find(std::uint32_t sequence);
    void finish_if_done(Slot& slot);
    void note_slow(const Slot& slot, Nanos now);

    const std::uint32_t run_;
    std::vector<Slot> slots_;
    std::uint32_t next_ = 0;
    std::uint64_t unreplied_ = 0;
    std::uint64_t undelivered_ = 0;
    bool measuring_ = false;
    Nanos started_ = 0;
    Tally tally_;
};

}  // namespace beckon::bench
