#pragma once

#include "core/result.hpp"

#include <filesystem>
#include <memory>

struct ssl_ctx_st;
struct ssl_st;

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
/// connections, and http/1.1 for clients that offer protocols (ALPN); once per context.
void harden(ssl_ctx_st* context);

/// A hardened context with its pair, for servers that make connections themselves. Immutable; any
/// thread.
class TlsContext {
public:
    /// Errors as check().
    static core::Result<std::shared_ptr<const TlsContext>> load(const TlsFiles& files);

    explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    ssl_ctx_st* get() const { return context_; }
    /// Gives a connection of another context this one's pair, and no other, before its certificate
    /// is chosen (SSL_CTX_set_cert_cb). A pair that is put into a context that has one of another
    /// kind of key leaves both there, and clients go on to get the old one. False: out of memory.
    bool give_pair(ssl_st* connection) const;

private:
    ssl_ctx_st* const context_;
};

}  // namespace beckon::net
