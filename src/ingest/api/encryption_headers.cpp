#include "ingest/api/encryption_headers.hpp"

#include "core/ascii.hpp"

namespace beckon::ingest {

namespace {

constexpr std::string_view kAes128gcm = "aes128gcm";
constexpr std::string_view kAesgcm = "aesgcm";

/// Cuts the next part off `rest`; a separator at the end leaves one more, empty part.
std::string_view next_part(std::optional<std::string_view>& rest, char separator) {
    const auto at = rest->find(separator);
    const auto part = rest->substr(0, at);
    if (at == std::string_view::npos) {
        rest.reset();
    } else {
        rest = rest->substr(at + 1);
    }
    return part;
}

bool is_base64url_value(std::string_view value) {
    const auto end = value.find_last_not_of('=');
    if (end == std::string_view::npos) return false;
    return core::is_alphanumeric(value.substr(0, end + 1), "-_");
}

tl::unexpected<Failure> broken(std::string_view detail) {
    return fail(Problem::bad_encryption, detail);
}

Checked<void> check_aesgcm(const EncryptionHeaders& headers) {
    if (!headers.encryption) return broken("Encryption is required with aesgcm.");
    const auto salt = find_parameter(*headers.encryption, "salt");
    if (!salt.parsable) return broken("Encryption is not a list of name=value items.");
    if (!salt.value) return broken("Encryption must have a salt with aesgcm.");
    if (!is_base64url_value(*salt.value)) return broken("The salt must be base64url.");
    if (!headers.crypto_key) return {};
    const auto dh = find_parameter(*headers.crypto_key, "dh");
    if (!dh.parsable) return broken("Crypto-Key is not a list of name=value items.");
    if (!dh.value) return broken("Crypto-Key must have a dh with aesgcm.");
    if (!is_base64url_value(*dh.value)) return broken("The dh must be base64url.");
    return {};
}

Checked<void> check_aes128gcm(const EncryptionHeaders& headers) {
    if (headers.encryption) {
        const auto salt = find_parameter(*headers.encryption, "salt");
        if (!salt.parsable) return broken("Encryption is not a list of name=value items.");
        if (salt.value) return broken("With aes128gcm the salt belongs into the body.");
    }
    if (headers.crypto_key) {
        const auto dh = find_parameter(*headers.crypto_key, "dh");
        if (!dh.parsable) return broken("Crypto-Key is not a list of name=value items.");
        if (dh.value) return broken("With aes128gcm the dh belongs into the body.");
    }
    return {};
}

}  // namespace

HeaderParameter find_parameter(std::string_view header, std::string_view name) {
    HeaderParameter found;
    std::optional<std::string_view> sections = header;
    while (sections) {
        std::optional<std::string_view> items = next_part(sections, ',');
        std::optional<std::string_view> in_section;
        while (items) {
            const auto item = next_part(items, ';');
            const auto equals = item.find('=');
            if (equals == std::string_view::npos) return {};
            if (core::equals_ignoring_case(core::trimmed(item.substr(0, equals), " \t"), name)) {
                in_section = core::trimmed(item.substr(equals + 1), " \t\"");
            }
        }
        if (!found.value) found.value = in_section;
    }
    found.parsable = true;
    return found;
}

std::string normalized(std::string_view header) {
    std::string out;
    out.reserve(header.size());
    const auto drop_padding = [&out] {
        while (!out.empty() && out.back() == '=') out.pop_back();
    };
    bool in_name = true;
    for (const char c : header) {
        if (c == '"') continue;
        const bool ends_item = c == ',' || c == ';';
        if (ends_item) drop_padding();
        if (ends_item || c == '=') in_name = ends_item;
        out += in_name && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    drop_padding();
    return out;
}

Checked<EncryptionHeaders> check_encryption(const RequestHeaders& headers) {
    const auto coding = headers.get(HeaderName::content_encoding);
    const bool newest = coding && core::equals_ignoring_case(*coding, kAes128gcm);
    if (!newest && !(coding && core::equals_ignoring_case(*coding, kAesgcm))) {
        return broken("Content-Encoding must be aes128gcm or aesgcm.");
    }
    EncryptionHeaders found;
    found.encoding = newest ? kAes128gcm : kAesgcm;
    if (const auto raw = headers.get(HeaderName::encryption)) found.encryption = normalized(*raw);
    if (const auto raw = headers.get(HeaderName::crypto_key)) found.crypto_key = normalized(*raw);
    const auto checked = newest ? check_aes128gcm(found) : check_aesgcm(found);
    if (!checked) return fail(checked.error());
    return found;
}

}  // namespace beckon::ingest
