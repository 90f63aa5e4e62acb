#include "bench/load/ledger.hpp"

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
    slot->accepted = is_success(status);
    if (slot->measured) {
        tally_.to_reply.record(now - slot->due);
        if (slot->accepted) {
            ++tally_.accepted;
            if (slot->delivered) ++tally_.delivered;
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
        if (slot->accepted) ++tally_.delivered;
    }
    finish_if_done(*slot);
    return true;
}

void Ledger::start() {
    for (Slot& slot : slots_) slot.measured = false;
    tally_ = {};
    measuring_ = true;
}

Tally Ledger::result() const {
    Tally tally = tally_;
    tally.missing = tally.accepted - tally.delivered;
    return tally;
}

}  // namespace beckon::bench
