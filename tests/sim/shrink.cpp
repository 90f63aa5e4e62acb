#include "sim/shrink.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace beckon::sim {

namespace {

Kept without(const Kept& kept, std::size_t from, std::size_t count) {
    Kept left(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(from));
    left.insert(left.end(), kept.begin() + static_cast<std::ptrdiff_t>(from + count), kept.end());
    return left;
}

}  // namespace

Shrunk shrink(Kept kept, const std::function<bool(const Kept&)>& fails, std::size_t runs_max) {
    Shrunk out{.kept = std::move(kept)};
    // The end first: most steps behind the decisive fault do not matter.
    for (std::size_t piece = std::max<std::size_t>(out.kept.size() / 2, 1);;) {
        bool left_out = false;
        for (std::size_t end = out.kept.size(); end > 0 && out.runs < runs_max;) {
            const auto count = std::min(piece, end);
            auto candidate = without(out.kept, end - count, count);
            ++out.runs;
            end -= count;
            if (!fails(candidate)) continue;
            out.kept = std::move(candidate);
            left_out = true;
        }
        if (out.runs >= runs_max || (piece == 1 && !left_out)) return out;
        piece = std::max<std::size_t>(piece / 2, 1);
    }
}

}  // namespace beckon::sim
