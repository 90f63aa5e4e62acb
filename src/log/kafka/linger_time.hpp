#pragma once

#include <chrono>
#include <cstddef>

namespace beckon::log::kafka {

/// How long a record may linger where so many records pass a second. Under light traffic no record
/// waits: the wait would be most of its time. Under heavy traffic, requests with one record each
/// would use up the processor, and all publishers would wait for that
/// (docs/decisions/0198-messages-are-batched-under-load.md).
std::chrono::milliseconds linger_time(std::size_t per_second);

}  // namespace beckon::log::kafka
