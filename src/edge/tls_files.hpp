#pragma once

#include "core/result.hpp"

#include <filesystem>

struct ssl_ctx_st;

/// Certificate and key of the edge's port.
namespace beckon::edge {

struct TlsFiles {
    std::filesystem::path certificate;  ///< PEM chain
    std::filesystem::path key;          ///< PEM
};

/// Reads both in a scratch context. Errors (invalid): which file, and what is wrong with it.
core::Result<void> check(const TlsFiles& files);

/// Protocol versions, ciphers, ALPN-independent modes; once per context.
void harden(ssl_ctx_st* context);

/// Puts the pair into a context that is in use; connections that are there keep the old one. Call
/// check() first: a certificate that does not fit would drop the old key at once.
core::Result<void> apply(ssl_ctx_st* context, const TlsFiles& files);

}  // namespace beckon::edge
