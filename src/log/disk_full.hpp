#pragma once

#include "core/result.hpp"

#include <string_view>

namespace beckon::log {

/// How the message of an error (`full`) begins that a log reports when its disk has no space. A
/// full queue is `full` too, and is over in a moment; this is not.
inline constexpr std::string_view kDiskFull = "the log's disk is full";

inline bool is_disk_full(const core::Error& error) {
    return error.fault == core::Fault::full && error.message.starts_with(kDiskFull);
}

}  // namespace beckon::log
