#pragma once

#include "core/result.hpp"

#include <filesystem>
#include <memory>

struct ssl_ctx_st;

namespace beckon::net {

/// A certificate with its key, ready for connections: TLS 1.2 and newer, forward secrecy and
/// authenticated encryption only, ALPN http/1.1. Immutable; any thread.
class TlsContext {
public:
    /// PEM files; the certificate's chain in one. Errors: invalid, naming the file and what is
    /// wrong with it, or that the two do not fit.
    static core::Result<std::shared_ptr<const TlsContext>> load(
        const std::filesystem::path& certificate, const std::filesystem::path& key);

    explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    ssl_ctx_st* get() const { return context_; }

private:
    ssl_ctx_st* const context_;
};

}  // namespace beckon::net
