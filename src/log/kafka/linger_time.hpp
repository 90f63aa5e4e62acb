#pragma once

#include <chrono>
#include <cstddef>

namespace beckon::log::kafka {

/// How long a record may linger where so many records pass a second. None waits where
/// there are few: the wait would be all of its time. Where there are many, requests that carry one
/// record each would fill the machine, and everybody would wait for that
/// (docs/decisions/0198-messages-are-batched-under-load.md).
std::chrono::milliseconds linger_time(std::size_t per_second);

}  // namespace beckon::log::kafka
