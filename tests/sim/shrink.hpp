#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace beckon::sim {

/// Indexes of the steps of a story that are played; the others are left out.
using Kept = std::vector<std::size_t>;

struct Shrunk {
    Kept kept;
    std::size_t runs = 0;
};

/// Leaves steps out for as long as the run still fails, larger pieces first: what is left fails,
/// and (unless `runs_max` was met) no single step of it can go.
Shrunk shrink(Kept kept, const std::function<bool(const Kept&)>& fails, std::size_t runs_max);

}  // namespace beckon::sim
