#include "bench/load/ledger.hpp"

#include <algorithm>

namespace beckon::bench {

namespace {

bool is_success(int status) { return status >= 200 && status < 300; }

}  // namespace

Ledger::Ledger(std::uint32_t run) : run_(run), slots_(kFollowedMax) {}

Ledger::Slot* Ledger::find(std::uint32_t sequence) {
    Slot& slot = slots_[sequence & (kFollowedMax - 1)];
    return slot.sequence == sequence ? &slot : nullptr;
}

std::uint32_t Ledger::issue(Nanos due) {
    const std::uint32_t sequence = next_++;
    Slot& slot = slots_[sequence & (kFollowedMax - 1)];
    if (slot.live) {  // half a million messages later: it will not come any more
        if (!slot.replied) --unreplied_;
        if (!slot.delivered) --undelivered_;
    }
    slot = {.due = due, .sequence = sequence, .live = true, .measured = measuring_};
    ++unreplied_;
    ++undelivered_;
    if (measuring_) ++tally_.posted;
    return sequence;
}

void Ledger::left(std::uint32_t sequence, Nanos now) {
    if (const Slot* slot = find(sequence); slot && slot->measured) {
        tally_.behind.record(now - slot->due);
    }
}

void Ledger::finish_if_done(Slot& slot) {
    if (slot.replied && slot.delivered) slot.live = false;
}

void Ledger::answered(std::uint32_t sequence, int status, Nanos now) {
    Slot* slot = find(sequence);
    if (!slot || !slot->live || slot->replied) return;
    slot->replied = true;
    --unreplied_;
    slot->replied_at = now;
    slot->accepted = is_success(status);
    if (slot->measured) {
        tally_.to_reply.record(now - slot->due);
        if (slot->accepted) {
            ++tally_.accepted;
            if (slot->delivered) {
                ++tally_.delivered;
                tally_.after_reply.record(0);
            }
        } else {
            ++tally_.refused[status];
        }
    }
    if (!slot->accepted && !slot->delivered) {
        --undelivered_;
        slot->live = false;
    }
    finish_if_done(*slot);
}

void Ledger::unanswered(std::uint32_t sequence) {
    Slot* slot = find(sequence);
    if (!slot || !slot->live || slot->replied) return;
    --unreplied_;
    if (!slot->delivered) --undelivered_;  // it may come or not: nobody waits for it
    if (slot->measured) ++tally_.unanswered;
    slot->live = false;
}

bool Ledger::delivered(Token token, Nanos now) {
    Slot* slot = token.run == run_ ? find(token.sequence) : nullptr;
    if (!slot) {
        ++tally_.foreign;
        return false;
    }
    if (slot->delivered) {
        if (slot->measured) ++tally_.duplicates;
        return false;
    }
    slot->delivered = true;
    if (measuring_) ++tally_.frames;
    if (!slot->live) return true;  // refused or unanswered, and yet it came
    --undelivered_;
    if (slot->measured) {
        tally_.to_frame.record(now - slot->due);
        note_slow(*slot, now);
        if (slot->accepted) {
            ++tally_.delivered;
            tally_.after_reply.record(now - slot->replied_at);
        }
    }
    finish_if_done(*slot);
    return true;
}

/// A heap of the slowest, the least slow on top.
void Ledger::note_slow(const Slot& slot, Nanos now) {
    const auto quicker = [](const SlowMessage& a, const SlowMessage& b) {
        return a.to_frame > b.to_frame;
    };
    auto& slowest = tally_.slowest;
    const SlowMessage one{slot.due - started_, slot.replied ? slot.replied_at - slot.due : 0,
                          now - slot.due};
    if (slowest.size() == Tally::kSlowest) {
        if (one.to_frame <= slowest.front().to_frame) return;
        std::pop_heap(slowest.begin(), slowest.end(), quicker);
        slowest.pop_back();
    }
    slowest.push_back(one);
    std::push_heap(slowest.begin(), slowest.end(), quicker);
}

void Ledger::start(Nanos now) {
    started_ = now;
    for (Slot& slot : slots_) slot.measured = false;
    tally_ = {};
    measuring_ = true;
}

Tally Ledger::result() const {
    Tally tally = tally_;
    tally.missing = tally.accepted - tally.delivered;
    std::sort(tally.slowest.begin(), tally.slowest.end(),
              [](const SlowMessage& a, const SlowMessage& b) { return a.at < b.at; });
    return tally;
}

}  // namespace beckon::bench
