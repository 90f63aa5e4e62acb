#include "fold/restored.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace beckon::fold {

Restored& Restored::operator+=(const Restored& other) {
    folded += other.folded;
    left += other.left;
    passed = std::max(passed, other.passed);
    return *this;
}

std::optional<Restored>& operator+=(std::optional<Restored>& sum,
                                    const std::optional<Restored>& other) {
    if (!other) return sum;
    if (!sum) sum.emplace();
    *sum += *other;
    return sum;
}

std::string to_string(const Restored& restored) {
    const auto all = restored.folded + restored.left;
    if (restored.folded <= 0 || all <= 0) return "0 % restored";
    auto text = std::to_string(100 * restored.folded / all) + " % restored";
    if (restored.left <= 0) return text;
    const double left = std::chrono::duration<double>{restored.passed}.count() *
                        static_cast<double>(restored.left) / static_cast<double>(restored.folded);
    const auto seconds = static_cast<std::int64_t>(left) + 1;
    text += ", ";
    if (seconds < 120) return text + std::to_string(seconds) + " s left";
    return text + std::to_string((seconds + 59) / 60) + " min left";
}

std::optional<Restored> RestoreMeter::measure(const Progress& progress, core::MonoTime now) {
    if (progress.phase != Phase::restoring) {
        from_.reset();
        return std::nullopt;
    }
    core::Offset position = 0;
    Restored out;
    for (const auto& input : progress.inputs) {
        position += input.position;
        out.left += input.lag_records();
    }
    if (!from_ || position < from_->position) from_ = From{position, now};
    out.folded = position - from_->position;
    out.passed = now - from_->at;
    if (out.folded + out.left == 0) return std::nullopt;
    return out;
}

}  // namespace beckon::fold
