#include "log/batching/senders.hpp"

#include "log/event_log.hpp"

#include <bit>
#include <utility>

namespace beckon::log {

namespace {

/// Objects of one kind lie a multiple of some power of two apart.
std::size_t slot_of(const void* sender) {
    constexpr std::uint64_t kGolden = 0x9E37'79B9'7F4A'7C15;  // 2^64 divided by the golden ratio
    constexpr int kShift = 64 - std::countr_zero(Senders::kSlots);
    return static_cast<std::size_t>((std::bit_cast<std::uintptr_t>(sender) * kGolden) >> kShift);
}

}  // namespace

void Senders::sent(const void* sender) {
    const std::scoped_lock lock{mutex_};
    ++waiting_;
    const auto last = std::exchange(last_[slot_of(sender)], span_);
    if (last == span_) return;
    ++active_;
    if (last + 1 == span_ && before_ > 0) --before_;
}

void Senders::answered() {
    const std::scoped_lock lock{mutex_};
    if (waiting_ > 0) --waiting_;
}

bool Senders::others_could_join(SteadyTime now) {
    const std::scoped_lock lock{mutex_};
    if (now - span_since_ >= kSpan) {
        before_ = now - span_since_ < 2 * kSpan ? active_ : 0;
        active_ = 0;
        ++span_;
        if (before_ == 0) ++span_;
        span_since_ = now;
    }
    return 4 * waiting_ < 3 * (active_ + before_);
}

void records_come_from(EventLog& log, std::shared_ptr<Senders> senders) {
    auto* const waits = dynamic_cast<WaitsForSenders*>(&log);
    if (waits) waits->records_come_from(std::move(senders));
}

}  // namespace beckon::log
