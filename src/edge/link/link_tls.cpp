#include "edge/link/link_tls.hpp"

#include "core/decimal.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

namespace beckon::edge::link {

namespace {

using ContextHandle = core::Handle<SSL_CTX, SSL_CTX_free>;
using SessionHandle = core::Handle<SSL_SESSION, SSL_SESSION_free>;

/// The purpose of the derived key, and the first part of the identity that the caller names.
constexpr std::string_view kPurpose = "beckon/link/1";
constexpr std::size_t kReadBufferBytes = std::size_t{64} * 1024;
constexpr const char* kCipherSuites = "TLS_AES_128_GCM_SHA256";
/// TLS_AES_128_GCM_SHA256 (RFC 8446 §B.4), whose hash is the one that the pre-shared key is for.
constexpr unsigned char kCipherSuite[] = {0x13, 0x01};

/// "beckon/link/1/<key number>"
std::string identity_of(const core::KeyRing::Key& key) {
    return std::string{kPurpose} + "/" + std::to_string(key.id);
}

const core::KeyRing::Key* key_of(const core::KeyRing& ring, std::string_view identity) {
    if (!identity.starts_with(kPurpose) || identity.size() <= kPurpose.size() + 1) return nullptr;
    const auto id = core::parse_decimal<std::uint8_t>(identity.substr(kPurpose.size() + 1));
    return id && *id < core::KeyRing::kKeysMax ? ring.find(*id) : nullptr;
}

/// The session that stands for a pre-shared key; null if OpenSSL refuses.
SessionHandle session_for(SSL* ssl, const core::KeyRing::Key& key) {
    const auto secret = core::KeyRing::derive(key, kPurpose);
    SessionHandle session{SSL_SESSION_new()};
    const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kCipherSuite);
    if (!session || !cipher ||
        SSL_SESSION_set1_master_key(session.get(), secret.data(), secret.size()) != 1 ||
        SSL_SESSION_set_cipher(session.get(), cipher) != 1 ||
        SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) != 1) {
        return nullptr;
    }
    return session;
}

}  // namespace

/// The called end finds the ring, and the caller its key, in the SSL object's own data.
struct LinkTls::Impl {
    explicit Impl(std::shared_ptr<const core::KeyRing> k) : keys(std::move(k)) {
        accept_context = make_context(TLS_server_method());
        SSL_CTX_set_psk_find_session_callback(accept_context.get(), find_session);
        dial_context = make_context(TLS_client_method());
        SSL_CTX_set_psk_use_session_callback(dial_context.get(), use_session);
    }

    static ContextHandle make_context(const SSL_METHOD* method) {
        ContextHandle context{SSL_CTX_new(method)};
        if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
            SSL_CTX_set_ciphersuites(context.get(), kCipherSuites) != 1) {
            throw std::runtime_error("OpenSSL cannot make a TLS 1.3 context for links");
        }
        SSL_CTX_set_num_tickets(context.get(), 0);  // each connection proves the ring anew
        SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
        SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                            SSL_MODE_RELEASE_BUFFERS);
        // A record's length and the record, or many of them, in one call of the kernel.
        SSL_CTX_set_read_ahead(context.get(), 1);
        SSL_CTX_set_default_read_buffer_len(context.get(), kReadBufferBytes);
        return context;
    }

    /// Called end: an identity that we do not know leaves no session, and the handshake fails since
    /// there is no certificate either.
    static int find_session(SSL* ssl, const unsigned char* identity, std::size_t size,
                            SSL_SESSION** session) noexcept {
        *session = nullptr;
        const auto* self = static_cast<const Impl*>(SSL_get_app_data(ssl));
        const auto* key = key_of(*self->keys, {reinterpret_cast<const char*>(identity), size});
        if (key) *session = session_for(ssl, *key).release();
        return 1;
    }

    static int use_session(SSL* ssl, const EVP_MD* /*md*/, const unsigned char** identity,
                           std::size_t* size, SSL_SESSION** session) noexcept {
        const auto* key = static_cast<const core::KeyRing::Key*>(SSL_get_app_data(ssl));
        auto made = session_for(ssl, *key);
        if (!made) return 0;
        // OpenSSL copies it before the callback's thread makes another one.
        thread_local std::string name;
        name = identity_of(*key);
        *identity = reinterpret_cast<const unsigned char*>(name.data());
        *size = name.size();
        *session = made.release();
        return 1;
    }

    const std::shared_ptr<const core::KeyRing> keys;
    ContextHandle accept_context;
    ContextHandle dial_context;
};

LinkTls::LinkTls(std::shared_ptr<const core::KeyRing> keys)
    : impl_(std::make_unique<Impl>(std::move(keys))) {}

LinkTls::~LinkTls() = default;

SslHandle LinkTls::accepting() const {
    SslHandle ssl{SSL_new(impl_->accept_context.get())};
    if (!ssl) return nullptr;
    SSL_set_app_data(ssl.get(), impl_.get());
    SSL_set_accept_state(ssl.get());
    return ssl;
}

SslHandle LinkTls::dialing(std::uint8_t key_id) const {
    const auto* key = impl_->keys->find(key_id);
    if (!key) return nullptr;
    SslHandle ssl{SSL_new(impl_->dial_context.get())};
    if (!ssl) return nullptr;
    SSL_set_app_data(ssl.get(), const_cast<core::KeyRing::Key*>(key));
    SSL_set_connect_state(ssl.get());
    return ssl;
}

const core::KeyRing& LinkTls::keys() const { return *impl_->keys; }

}  // namespace beckon::edge::link
