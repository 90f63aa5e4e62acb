#pragma once

#include "core/result.hpp"

#include <filesystem>
#include <memory>

struct ssl_ctx_st;

/// TLS of every port: certificate and key from files, and the allowed protocols.
namespace beckon::net {

struct TlsFiles {
    std::filesystem::path certificate;  ///< PEM chain
    std::filesystem::path key;          ///< PEM
};

/// Reads both in a scratch context. Errors: invalid, naming the file and its fault, or that the two
/// do not fit.
core::Result<void> check(const TlsFiles& files);
/// Logs that the certificate is not valid by this host's clock: it is used, and clients refuse it.
void warn_if_not_valid(const std::filesystem::path& certificate);

/// TLS 1.2 and newer, forward secrecy and authenticated encryption only, little memory for idle
/// connections; once per context.
void harden(ssl_ctx_st* context);

/// Puts the pair into a context that may be in use; connections that are there keep the old one.
/// Call check() first: a certificate that does not fit would drop the old key at once. Errors as
/// check().
core::Result<void> apply(ssl_ctx_st* context, const TlsFiles& files);

/// A hardened context with its pair and ALPN http/1.1, for servers that make connections
/// themselves. Immutable; any thread.
class TlsContext {
public:
    /// Errors as check().
    static core::Result<std::shared_ptr<const TlsContext>> load(const TlsFiles& files);

    explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    ssl_ctx_st* get() const { return context_; }

private:
    ssl_ctx_st* const context_;
};

}  // namespace beckon::net
