#pragma once

#include "core/handle.hpp"
#include "core/key_ring.hpp"

#include <cstdint>
#include <memory>

#include <openssl/ssl.h>

namespace beckon::edge::link {

using SslHandle = core::Handle<SSL, SSL_free>;

/// TLS 1.3 between the nodes of one installation. Both ends prove with a pre-shared key (RFC 8446
/// §2.2) that they hold the same key ring, so links need no certificates; a fresh Diffie-Hellman
/// exchange for each connection keeps recorded traffic secret even if the ring leaks later.
///
/// It uses the present keys of the ring, which may grow (KeyRing::grow()), and keeps no copy. The
/// SSL objects that it makes are used by one thread at a time.
class LinkTls {
public:
    /// Throws std::runtime_error if OpenSSL cannot make a context.
    explicit LinkTls(std::shared_ptr<const core::KeyRing> keys);
    ~LinkTls();

    /// The end that was called. It accepts every key of the ring, so that nodes whose ring was
    /// rotated and nodes whose ring was not yet can talk.
    SslHandle accepting() const;
    /// The end that calls, with the key of that number; null if the ring has none.
    SslHandle dialing(std::uint8_t key_id) const;

    const core::KeyRing& keys() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge::link
