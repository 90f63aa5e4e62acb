#pragma once

#include "core/result.hpp"

#include <filesystem>

namespace beckon::store {

/// Copies a store that this process has open, without knowing its user: a page of the ops port does
/// it while an edge uses the store. The copy, in a directory that must not exist, has the committed
/// state of one moment: hard links to files that never change, and the write-ahead file, so it
/// takes a moment and little space. Any thread; closing the store waits for the copy. Errors:
/// not_found (no store is open in `directory`), unavailable, full.
core::Result<void> copy_open_store(const std::filesystem::path& directory,
                                   const std::filesystem::path& to);

}  // namespace beckon::store
