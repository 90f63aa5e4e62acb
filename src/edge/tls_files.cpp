#include "edge/tls_files.hpp"

#include "core/handle.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace beckon::edge {

namespace {

std::string why() {
    char text[256] = "no reason given";
    if (const unsigned long code = ERR_peek_last_error())
        ERR_error_string_n(code, text, sizeof text);
    ERR_clear_error();
    return text;
}

}  // namespace

core::Result<void> apply(ssl_ctx_st* context, const TlsFiles& files) {
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
        return core::fail(
            core::Fault::invalid,
            "the TLS certificate " + files.certificate.string() + " cannot be used: " + why());
    }
    if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1) {
        return core::fail(core::Fault::invalid, "the TLS key " + files.key.string() +
                                                    " cannot be used with " +
                                                    files.certificate.string() + ": " + why());
    }
    return {};
}

core::Result<void> check(const TlsFiles& files) {
    const core::Handle<SSL_CTX, SSL_CTX_free> scratch{SSL_CTX_new(TLS_server_method())};
    if (!scratch) return core::fail(core::Fault::unavailable, "no TLS context: " + why());
    return apply(scratch.get(), files);
}

void harden(ssl_ctx_st* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    // An idle connection then holds 3 KB less (docs/facts/libwebsockets.md#memory).
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}

}  // namespace beckon::edge
