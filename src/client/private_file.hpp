#pragma once

#include "core/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace beckon::client {

/// Replaces `file` by `text` in one step (temporary file, fsync, rename), mode 0600: the tools'
/// files hold private keys. `unavailable` with the reason if that fails.
core::Result<void> write_private_file(const std::filesystem::path& file, std::string_view text);

/// The whole file, at most 16 MB. `not_found` or `unavailable` with the reason.
core::Result<std::string> read_text_file(const std::filesystem::path& file);

}  // namespace beckon::client
