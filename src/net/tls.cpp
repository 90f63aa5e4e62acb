#include "net/tls.hpp"

#include "core/logger.hpp"
#include "core/time_text.hpp"
#include "net/descriptor.hpp"
#include "net/self_signed.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pemerr.h>
#include <openssl/ssl.h>
#include <openssl/x509err.h>
#include <sys/stat.h>
#include <unistd.h>

namespace beckon::net {

namespace {

/// The first of OpenSSL's errors, from which the others follow: "PEM lib" says nothing.
std::string reason() {
    const unsigned long code = ERR_peek_error();
    ERR_clear_error();
    const bool no_pem =
        (ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE) ||
        (ERR_GET_LIB(code) == ERR_LIB_OSSL_DECODER && ERR_GET_REASON(code) == ERR_R_UNSUPPORTED);
    if (no_pem) return "it has none in PEM form (-----BEGIN …)";
    const char* words = code != 0 ? ERR_reason_error_string(code) : nullptr;
    return words ? words : "OpenSSL gives no reason";
}

tl::unexpected<core::Error> unusable(const std::string& what) {
    return core::fail(core::Fault::invalid, what);
}

/// Why a file cannot be read, in the system's words; empty: it can. OpenSSL's text is "system lib",
/// and it would wait for whoever writes to a pipe.
std::string why_unreadable(const std::string& file) {
    const Descriptor opened{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    char byte = 0;
    struct stat facts {};
    if (opened && ::fstat(opened.get(), &facts) == 0 && !S_ISREG(facts.st_mode) &&
        !S_ISDIR(facts.st_mode)) {
        return "it is no regular file";
    }
    if (opened && ::read(opened.get(), &byte, 1) >= 0) return {};
    return std::generic_category().message(errno);
}

/// Instead of OpenSSL's own, which asks at the terminal and waits. `asked`: a bool.
int refuse_passphrase(char*, int, int, void* asked) noexcept {
    *static_cast<bool*>(asked) = true;
    return -1;
}

core::Result<void> use_key(SSL_CTX* context, const std::string& key,
                           const std::string& certificate) {
    bool encrypted = false;
    SSL_CTX_set_default_passwd_cb(context, refuse_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(context, &encrypted);
    const bool used = SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
    SSL_CTX_set_default_passwd_cb(context, nullptr);
    if (used) return {};
    const auto code = ERR_peek_last_error();
    if (ERR_GET_LIB(code) == ERR_LIB_X509 && ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH) {
        ERR_clear_error();
        return unusable("the TLS key " + key + " does not fit the certificate " + certificate);
    }
    if (encrypted) {
        ERR_clear_error();
        return unusable("the TLS key " + key +
                        " is encrypted: give one without a passphrase, which `openssl pkey -in " +
                        key + " -out FILE` makes");
    }
    return unusable("the TLS key " + key + " cannot be used: " + reason());
}

/// A client that offers ALPN without http/1.1 would not understand us: RFC 7301 §3.2.
int choose_http11(SSL*, const unsigned char** out, unsigned char* out_length,
                  const unsigned char* offered, unsigned offered_length, void*) noexcept {
    static constexpr std::array<unsigned char, 9> kHttp11{8,   'h', 't', 't', 'p',
                                                          '/', '1', '.', '1'};
    unsigned char* chosen = nullptr;
    if (SSL_select_next_proto(&chosen, out_length, kHttp11.data(), kHttp11.size(), offered,
                              offered_length) != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

core::Result<void> apply(ssl_ctx_st* context, const TlsFiles& files) {
    ERR_clear_error();
    const auto certificate = files.certificate.string();
    const auto key = files.key.string();
    for (const auto& [what, file] : {std::pair{"certificate", certificate}, {"key", key}}) {
        if (const auto why = why_unreadable(file); !why.empty()) {
            return unusable(std::string{"the TLS "} + what + " " + file +
                            " cannot be read: " + why);
        }
    }
    if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
        return unusable("the TLS certificate " + certificate + " cannot be used: " + reason());
    }
    if (auto used = use_key(context, key, certificate); !used) return used;
    if (SSL_CTX_check_private_key(context) != 1) {
        return unusable("the TLS key " + key + " does not fit the certificate " + certificate);
    }
    return {};
}

}  // namespace

core::Result<void> check(const TlsFiles& files) {
    const auto loaded = TlsContext::load(files);
    if (!loaded) return core::fail(loaded.error());
    return {};
}

void warn_if_not_valid(const std::filesystem::path& certificate) {
    const auto facts = read_certificate(certificate);
    const auto now = std::chrono::system_clock::now();
    if (!facts || (facts->begins <= now && now < facts->expires)) return;
    const auto text = [](std::chrono::system_clock::time_point time) {
        return core::time_text_in_seconds(std::chrono::floor<std::chrono::milliseconds>(time));
    };
    core::log_warn("net", "certificate_not_valid",
                   {{"file", certificate.string()},
                    {"from", text(facts->begins)},
                    {"until", text(facts->expires)}});
}

void harden(ssl_ctx_st* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    // An idle connection then holds 3 KB less.
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(context, choose_http11, nullptr);
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

bool TlsContext::give_pair(ssl_st* connection) const {
    STACK_OF(X509)* chain = nullptr;
    SSL_CTX_get0_chain_certs(context_, &chain);
    SSL_certs_clear(connection);
    return SSL_use_cert_and_key(connection, SSL_CTX_get0_certificate(context_),
                                SSL_CTX_get0_privatekey(context_), chain, 1) == 1;
}

core::Result<std::shared_ptr<const TlsContext>> TlsContext::load(const TlsFiles& files) {
    auto* context = SSL_CTX_new(TLS_server_method());
    if (!context) return core::fail(core::Fault::unavailable, "no TLS context: " + reason());
    auto owner = std::make_shared<const TlsContext>(context);
    harden(context);
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    constexpr unsigned char kName[] = "beckon";
    SSL_CTX_set_session_id_context(context, kName, sizeof kName - 1);
    if (auto applied = apply(context, files); !applied) return core::fail(applied.error());
    return owner;
}

}  // namespace beckon::net
