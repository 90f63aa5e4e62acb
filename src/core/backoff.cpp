#include "core/backoff.hpp"

#include "core/ids.hpp"

#include <algorithm>

namespace beckon::core {

Duration Backoff::pause() {
    const auto longest = next_;
    next_ = std::min(2 * next_, most_);
    return longest - longest / 512 * random_uuid4().front();  // up to 255 of 512 parts less
}

}  // namespace beckon::core
