#pragma once

#include <filesystem>
#include <string>

namespace beckon::test {

enum class KeyKind { ec, rsa };

/// Writes a fresh self-signed certificate with this common name, and its key, as PEM files.
void write_certificate(const std::filesystem::path& certificate, const std::filesystem::path& key,
                       const std::string& common_name, KeyKind kind = KeyKind::ec);

}  // namespace beckon::test
