#pragma once

#include <cstddef>

namespace beckon::core {

/// Raises the process's limit of open files as far as it may go itself (`ulimit -Hn`) and returns
/// it: every connection is a descriptor, and the usual limit is 1,024. Any thread.
std::size_t raise_descriptor_limit();

}  // namespace beckon::core
