#pragma once

#include <cstddef>

namespace beckon::test {

/// The bytes of operator new of the whole test program, which links beckon_counted_allocations.
/// With a sanitizer, which has replaced operator new itself, nothing is counted.
struct Allocations {
    std::size_t held = 0;    ///< handed out and not got back
    std::size_t in_all = 0;  ///< handed out
};
Allocations allocations();
bool allocations_are_counted();

}  // namespace beckon::test
