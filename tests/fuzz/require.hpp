#pragma once

#include <cstdlib>

namespace beckon::test {

/// A property that does not hold is a crash: libFuzzer keeps the input.
inline void require(bool ok) {
    if (!ok) std::abort();
}

}  // namespace beckon::test
