#pragma once

#include <cstddef>
#include <limits>

namespace beckon::core {

/// Raises the process's limit of open files to `enough`, as far as it may go itself (`ulimit -Hn`),
/// and returns it: every connection is a descriptor, and the usual limit is 1,024. Never lowers it.
/// No more than enough: libwebsockets pays for the limit with each connection
/// (docs/facts/libwebsockets.md). Any thread.
std::size_t raise_descriptor_limit(std::size_t enough = std::numeric_limits<std::size_t>::max());

}  // namespace beckon::core
