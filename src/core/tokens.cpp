#include "core/tokens.hpp"

#include "core/assert.hpp"
#include "core/base64url.hpp"
#include "core/handle.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

namespace beckon::core {

namespace {

using ByteView = std::span<const std::uint8_t>;

using Cipher = Handle<EVP_CIPHER, EVP_CIPHER_free>;
using CipherContext = Handle<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free>;
using Mac = Handle<EVP_MAC, EVP_MAC_free>;
using MacContext = Handle<EVP_MAC_CTX, EVP_MAC_CTX_free>;
using Digest = Handle<EVP_MD, EVP_MD_free>;
using DigestContext = Handle<EVP_MD_CTX, EVP_MD_CTX_free>;

/// Start-up only: a library that lacks an algorithm, or no memory.
void need(bool ok, const char* what) {
    if (!ok) throw std::runtime_error(std::string{"OpenSSL does not offer "} + what);
}

Cipher fetch_cipher(const char* name) {
    Cipher cipher{EVP_CIPHER_fetch(nullptr, name, nullptr)};
    need(cipher != nullptr, name);
    return cipher;
}

CipherContext new_cipher_context() {
    CipherContext context{EVP_CIPHER_CTX_new()};
    need(context != nullptr, "a cipher context");
    return context;
}

int to_int(std::size_t size) { return static_cast<int>(size); }

// ------------------------------------------------------------------------- compact tokens

constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kPairBytes = 32;   ///< two ids
constexpr std::size_t kBoundBytes = 48;  ///< two ids and half a SHA-256
constexpr std::size_t kCompactBytesMax = 1 + kTagBytes + kBoundBytes;
constexpr std::size_t kCompactText = 66;
constexpr std::size_t kCompactBoundText = 87;
constexpr std::size_t kHashPrefix = 16;

enum class Kind : std::uint8_t { token = 0, bound_token = 1, message_id = 2, receipt = 3 };
constexpr Kind kKinds[] = {Kind::token, Kind::bound_token, Kind::message_id, Kind::receipt};

constexpr std::uint8_t first_byte(std::uint8_t key_id, Kind kind) {
    return static_cast<std::uint8_t>(key_id * 4 + static_cast<std::uint8_t>(kind));
}
constexpr std::size_t plain_bytes(Kind kind) {
    return kind == Kind::bound_token ? kBoundBytes : kPairBytes;
}
constexpr std::string_view purpose(Kind kind) {
    switch (kind) {
        case Kind::token:
        case Kind::bound_token: return "beckon/token/1";
        case Kind::message_id: return "beckon/message-id/1";
        case Kind::receipt: return "beckon/receipt/1";
    }
    return "beckon/token/1";
}

/// AES-128-SIV (RFC 5297) for one first byte, which is the associated data. Setting a key costs
/// 3 µs, so key and associated data are set once. By itself OpenSSL allows one operation with them;
/// the parameter `speed` (EVP_EncryptInit(3)) allows a further one each time it is set, for less
/// than half the price of a copy of the context.
class SivContext {
public:
    SivContext(const EVP_CIPHER* siv, const Secret32& key, std::uint8_t associated, bool sealing)
        : context_(new_cipher_context()) {
        int size = 0;
        const bool ok = EVP_CipherInit_ex2(context_.get(), siv, key.data(), nullptr,
                                           sealing ? 1 : 0, nullptr) == 1 &&
                        EVP_CipherUpdate(context_.get(), nullptr, &size, &associated, 1) == 1;
        need(ok, "AES-128-SIV");
    }

    /// Writes tag and ciphertext: kTagBytes + plain.size().
    void seal(ByteView plain, std::uint8_t* out) {
        int size = 0;
        const std::array<OSSL_PARAM, 2> params{one_more(), OSSL_PARAM_construct_end()};
        const bool ok =
            EVP_CIPHER_CTX_set_params(context_.get(), params.data()) == 1 &&
            EVP_EncryptUpdate(context_.get(), out + kTagBytes, &size, plain.data(),
                              to_int(plain.size())) == 1 &&
            EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, to_int(kTagBytes), out) == 1;
        BECKON_ASSERT(ok, "AES-SIV of a token cannot fail");
    }

    /// Opens tag and ciphertext into `plain` (kTagBytes shorter); false if they are not genuine.
    bool open(ByteView sealed, std::uint8_t* plain) {
        std::array<std::uint8_t, kTagBytes> tag;
        std::copy_n(sealed.begin(), kTagBytes, tag.begin());
        int size = 0;
        const std::array<OSSL_PARAM, 3> params{
            one_more(),
            OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag.data(), tag.size()),
            OSSL_PARAM_construct_end()};
        return EVP_CIPHER_CTX_set_params(context_.get(), params.data()) == 1 &&
               EVP_DecryptUpdate(context_.get(), plain, &size, sealed.data() + kTagBytes,
                                 to_int(sealed.size() - kTagBytes)) == 1;
    }

private:
    OSSL_PARAM one_more() { return OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_SPEED, &allow_); }

    CipherContext context_;
    unsigned int allow_ = 1;
};

/// Seals with the key that encrypts (KeyRing::sealing()), opens with any of the ring.
class CompactCipher {
public:
    explicit CompactCipher(const KeyRing& keys) {
        sealing_ = keys.sealing().id;
        const Cipher siv = fetch_cipher("AES-128-SIV");
        for (const auto& key : keys.keys()) {
            for (const Kind kind : kKinds) {
                const Secret32 secret = KeyRing::derive(key, purpose(kind));
                const std::uint8_t first = first_byte(key.id, kind);
                openers_[first] = std::make_unique<SivContext>(siv.get(), secret, first, false);
                if (key.id != sealing_) continue;
                sealers_[static_cast<std::size_t>(kind)] =
                    std::make_unique<SivContext>(siv.get(), secret, first, true);
            }
        }
    }

    std::string seal(Kind kind, ByteView plain) {
        std::array<std::uint8_t, kCompactBytesMax> bytes;
        bytes[0] = first_byte(sealing_, kind);
        sealers_[static_cast<std::size_t>(kind)]->seal(plain, bytes.data() + 1);
        return base64url(
            {reinterpret_cast<const char*>(bytes.data()), 1 + kTagBytes + plain.size()});
    }

    /// `bytes` is a whole decoded token with a length that is right for `kind`.
    Result<void> open(Kind kind, ByteView bytes, std::uint8_t* plain) {
        auto* const opener = openers_[bytes[0]].get();
        if (!opener) {
            return fail(Fault::unauthorized,
                        "no key " + std::to_string(bytes[0] / 4) + " in the key ring");
        }
        BECKON_ASSERT(bytes.size() == 1 + kTagBytes + plain_bytes(kind), "checked by the caller");
        if (!opener->open(bytes.subspan(1), plain)) {
            return fail(Fault::unauthorized, "not made by this key ring, or changed since");
        }
        return {};
    }

private:
    std::uint8_t sealing_ = 0;
    std::array<std::unique_ptr<SivContext>, std::size(kKinds)> sealers_;
    std::array<std::unique_ptr<SivContext>, 128> openers_;  ///< by first byte
};

// -------------------------------------------------------------------------- Fernet tokens

constexpr std::uint8_t kFernetVersion = 0x80;
constexpr std::size_t kFernetHead = 1 + 8 + 16;  ///< version, seconds, IV
constexpr std::size_t kFernetMac = 32;
constexpr std::size_t kFernetV1Plain = 32;
constexpr std::size_t kFernetV2Plain = 64;
constexpr std::size_t kFernetV1Text = 140;
constexpr std::size_t kFernetV2Text = 183;
constexpr std::size_t kFernetBytesMax = kFernetHead + kFernetV2Plain + 16 + kFernetMac;
constexpr std::chrono::seconds kFernetAheadMax{60};

/// One of the reference's keys: the first half signs, the second encrypts.
class FernetKey {
public:
    FernetKey(const EVP_CIPHER* cbc, EVP_MAC* hmac, const std::string& text)
        : mac_(EVP_MAC_CTX_new(hmac)), cipher_(new_cipher_context()) {
        need(mac_ != nullptr, "a MAC context");
        std::array<std::uint8_t, 32> key{};
        BECKON_ASSERT(parse_base64url(text, key) == key.size(), "the key ring checked it");
        std::string digest = "SHA256";
        const std::array<OSSL_PARAM, 2> params{
            OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), digest.size()),
            OSSL_PARAM_construct_end()};
        need(EVP_MAC_init(mac_.get(), key.data(), 16, params.data()) == 1, "HMAC-SHA256");
        need(EVP_DecryptInit_ex2(cipher_.get(), cbc, key.data() + 16, nullptr, nullptr) == 1,
             "AES-128-CBC");
    }

    bool signed_by_this(ByteView token) {
        const auto message = token.first(token.size() - kFernetMac);
        std::array<std::uint8_t, kFernetMac> mac;
        std::size_t size = 0;
        const bool ok = EVP_MAC_init(mac_.get(), nullptr, 0, nullptr) == 1 &&
                        EVP_MAC_update(mac_.get(), message.data(), message.size()) == 1 &&
                        EVP_MAC_final(mac_.get(), mac.data(), &size, mac.size()) == 1;
        return ok && CRYPTO_memcmp(mac.data(), token.last(kFernetMac).data(), mac.size()) == 0;
    }

    /// Decrypts a ciphertext that was found genuine; `plain` has space for it. The plaintext's
    /// size, or nullopt if the padding is wrong.
    std::optional<std::size_t> decrypt(ByteView token, std::uint8_t* plain) {
        const auto iv = token.subspan(kFernetHead - 16, 16);
        const auto ciphertext = token.subspan(kFernetHead, token.size() - kFernetHead - kFernetMac);
        int size = 0;
        int rest = 0;
        const bool ok =
            EVP_DecryptInit_ex2(cipher_.get(), nullptr, nullptr, iv.data(), nullptr) == 1 &&
            EVP_DecryptUpdate(cipher_.get(), plain, &size, ciphertext.data(),
                              to_int(ciphertext.size())) == 1 &&
            EVP_DecryptFinal_ex(cipher_.get(), plain + size, &rest) == 1;
        if (!ok) return std::nullopt;
        return static_cast<std::size_t>(size) + static_cast<std::size_t>(rest);
    }

private:
    MacContext mac_;
    CipherContext cipher_;
};

class FernetOpener {
public:
    explicit FernetOpener(const KeyRing& keys)
        : cbc_(fetch_cipher("AES-128-CBC")), hmac_(EVP_MAC_fetch(nullptr, "HMAC", nullptr)) {
        need(hmac_ != nullptr, "HMAC");
        for (const auto& text : keys.crypto_keys()) {
            keys_.emplace_back(cbc_.get(), hmac_.get(), text);
        }
    }

    /// Opens a token whose length is right for `plain.size()`, which must come out of it.
    Result<void> open(ByteView token, Timestamp now, std::span<std::uint8_t> plain) {
        const auto is_maker = [token](FernetKey& key) { return key.signed_by_this(token); };
        const auto key = std::find_if(keys_.begin(), keys_.end(), is_maker);
        if (key == keys_.end()) {
            return fail(Fault::unauthorized, "none of the crypto keys has made it");
        }
        if (stamped_ahead(token, now)) {
            return fail(Fault::unauthorized, "its time lies more than 60 s ahead");
        }
        std::array<std::uint8_t, kFernetBytesMax> buffer;
        const auto size = key->decrypt(token, buffer.data());
        if (size != plain.size()) return fail(Fault::invalid, "it holds something else");
        std::copy_n(buffer.begin(), plain.size(), plain.begin());
        return {};
    }

private:
    static bool stamped_ahead(ByteView token, Timestamp now) {
        std::uint64_t seconds = 0;
        for (const auto byte : token.subspan(1, 8)) seconds = seconds << 8 | byte;
        const auto latest = std::chrono::floor<std::chrono::seconds>(now + kFernetAheadMax)
                                .time_since_epoch()
                                .count();
        return latest < 0 || seconds > static_cast<std::uint64_t>(latest);
    }

    Cipher cbc_;
    Mac hmac_;
    std::vector<FernetKey> keys_;
};

// -------------------------------------------------------------------------------- helpers

template <class Id>
void put(std::uint8_t* to, const Id& id) {
    std::copy_n(id.bytes.begin(), id.bytes.size(), to);
}
template <class Id>
Id get(const std::uint8_t* from) {
    Id id;
    std::copy_n(from, id.bytes.size(), id.bytes.begin());
    return id;
}

std::string token_text_of(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Accepted are exactly the lengths that Beckon and the reference issue; padding is optional.
std::string_view token_without_padding(std::string_view token) {
    for (int i = 0; i < 2 && token.ends_with('='); ++i) token.remove_suffix(1);
    return token;
}

tl::unexpected<Error> wrong_length(std::size_t size, const char* allowed) {
    return fail(Fault::invalid,
                "it has " + std::to_string(size) + " characters; allowed: " + allowed);
}

/// A token of two ids, 66 characters. `what`: the message for a token of another kind.
Result<void> open_pair(CompactCipher& cipher, Kind kind, std::string_view text, const char* what,
                       std::array<std::uint8_t, kPairBytes>& plain) {
    std::array<std::uint8_t, kCompactBytesMax> buffer;
    if (text.size() != kCompactText) return wrong_length(text.size(), "66");
    const auto size = parse_base64url(text, buffer);
    if (!size || *size != 1 + kTagBytes + kPairBytes) {
        return fail(Fault::invalid, "it is not base64url");
    }
    if (buffer[0] >= kFernetVersion || static_cast<Kind>(buffer[0] % 4) != kind) {
        return fail(Fault::invalid, what);
    }
    return cipher.open(kind, ByteView{buffer}.first(*size), plain.data());
}

}  // namespace

Sha256 sha256(std::string_view first, std::string_view second) {
    static const Digest digest{EVP_MD_fetch(nullptr, "SHA256", nullptr)};
    thread_local const DigestContext context{EVP_MD_CTX_new()};
    Sha256 out{};
    const bool ok = EVP_DigestInit_ex2(context.get(), digest.get(), nullptr) == 1 &&
                    EVP_DigestUpdate(context.get(), first.data(), first.size()) == 1 &&
                    EVP_DigestUpdate(context.get(), second.data(), second.size()) == 1 &&
                    EVP_DigestFinal_ex(context.get(), out.data(), nullptr) == 1;
    BECKON_ASSERT(ok, "SHA-256 cannot fail");
    return out;
}

std::string hex(const Sha256& hash) {
    return hex({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

bool EndpointToken::admits(const Sha256& key_sha256) const {
    if (vapid_sha256.empty()) return true;
    return vapid_sha256.size() <= key_sha256.size() &&
           std::memcmp(vapid_sha256.data(), key_sha256.data(), vapid_sha256.size()) == 0;
}

struct Tokens::Impl {
    explicit Impl(std::shared_ptr<const KeyRing> ring)
        : keys(std::move(ring)), version(keys->version()), compact(*keys), fernet(*keys) {}

    /// With the keys that the ring has now.
    Impl& now() {
        if (const auto latest = keys->version(); latest != version) {
            version = latest;
            compact = CompactCipher{*keys};
            fernet = FernetOpener{*keys};
        }
        return *this;
    }

    Result<EndpointToken> open_compact(ByteView bytes, std::size_t text_size) {
        const std::uint8_t first = bytes[0];
        const auto kind = static_cast<Kind>(first % 4);
        if (kind != Kind::token && kind != Kind::bound_token) {
            return fail(Fault::invalid, "it is no endpoint token");
        }
        if (bytes.size() != 1 + kTagBytes + plain_bytes(kind)) {
            return wrong_length(text_size, kind == Kind::token ? "66" : "87");
        }
        std::array<std::uint8_t, kBoundBytes> plain;
        if (auto ok = compact.open(kind, bytes, plain.data()); !ok) return fail(ok.error());
        return token_of(ByteView{plain}.first(plain_bytes(kind)));
    }

    Result<EndpointToken> open_fernet(ByteView bytes, Form form, Timestamp now) {
        const bool v1 = bytes.size() == kFernetV1Text * 3 / 4;
        const bool v2 = bytes.size() == kFernetV2Text * 3 / 4;
        if ((!v1 && !v2) || (form == Form::v1 && !v1) || (form == Form::v2 && !v2)) {
            return fail(Fault::invalid, "a Fernet token has 140 (v1) or 183 characters (v2)");
        }
        std::array<std::uint8_t, kFernetV2Plain> buffer;
        const auto plain = std::span{buffer}.first(v1 ? kFernetV1Plain : kFernetV2Plain);
        if (auto ok = fernet.open(bytes, now, plain); !ok) return fail(ok.error());
        return token_of(plain);
    }

    static EndpointToken token_of(ByteView plain) {
        return EndpointToken{.uaid = get<Uaid>(plain.data()),
                             .channel = get<ChannelId>(plain.data() + 16),
                             .vapid_sha256 = token_text_of(plain.subspan(kPairBytes))};
    }

    const std::shared_ptr<const KeyRing> keys;
    std::uint64_t version;
    CompactCipher compact;
    FernetOpener fernet;
};

Tokens::Tokens(std::shared_ptr<const KeyRing> keys)
    : impl_(std::make_unique<Impl>(std::move(keys))) {}
Tokens::~Tokens() = default;
Tokens::Tokens(Tokens&&) noexcept = default;

std::string Tokens::seal_endpoint(const Uaid& uaid, const ChannelId& channel,
                                  const std::optional<Sha256>& vapid_sha256) {
    std::array<std::uint8_t, kBoundBytes> plain;
    put(plain.data(), uaid);
    put(plain.data() + 16, channel);
    if (!vapid_sha256)
        return impl_->now().compact.seal(Kind::token, ByteView{plain}.first(kPairBytes));
    std::copy_n(vapid_sha256->begin(), kHashPrefix, plain.begin() + kPairBytes);
    return impl_->now().compact.seal(Kind::bound_token, plain);
}

Result<EndpointToken> Tokens::open_endpoint(std::string_view token, Form form, Timestamp now) {
    token = token_without_padding(token);
    std::array<std::uint8_t, kFernetBytesMax> buffer;
    const bool length = token.size() == kCompactText || token.size() == kCompactBoundText ||
                        token.size() == kFernetV1Text || token.size() == kFernetV2Text;
    if (!length) return wrong_length(token.size(), "66, 87, 140, 183");
    const auto size = parse_base64url(token, buffer);
    if (!size) return fail(Fault::invalid, "it is not base64url");
    const auto bytes = ByteView{buffer}.first(*size);
    if (bytes[0] == kFernetVersion) return impl_->now().open_fernet(bytes, form, now);
    if (bytes[0] > kFernetVersion) return fail(Fault::invalid, "its first byte is of no form");
    if (form != Form::any) {
        return fail(Fault::invalid, "this path admits Fernet tokens only");
    }
    return impl_->now().open_compact(bytes, token.size());
}

std::string Tokens::seal_message(const MessageRef& message) {
    std::array<std::uint8_t, kPairBytes> plain;
    put(plain.data(), message.uaid);
    put(plain.data() + 16, message.key);
    return impl_->now().compact.seal(Kind::message_id, plain);
}

Result<MessageRef> Tokens::open_message(std::string_view message_id) {
    std::array<std::uint8_t, kPairBytes> plain;
    const auto opened =
        open_pair(impl_->now().compact, Kind::message_id, message_id, "it is no message id", plain);
    if (!opened) return fail(opened.error());
    return MessageRef{get<Uaid>(plain.data()), get<MessageKey>(plain.data() + 16)};
}

std::string Tokens::seal_receipt(const ReceiptRef& receipt) {
    std::array<std::uint8_t, kPairBytes> plain{};
    put(plain.data(), receipt.id);
    if (receipt.sender) put(plain.data() + 16, *receipt.sender);
    return impl_->now().compact.seal(Kind::receipt, plain);
}

Result<ReceiptRef> Tokens::open_receipt(std::string_view token) {
    std::array<std::uint8_t, kPairBytes> plain;
    const auto opened = open_pair(impl_->now().compact, Kind::receipt, token,
                                  "it is no receipt subscription", plain);
    if (!opened) return fail(opened.error());
    ReceiptRef receipt{.id = get<ReceiptId>(plain.data()), .sender = std::nullopt};
    const auto sender = get<SenderId>(plain.data() + 16);
    if (sender != SenderId{}) receipt.sender = sender;
    return receipt;
}

}  // namespace beckon::core
