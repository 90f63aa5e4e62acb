// Encryption and Crypto-Key: the grammar, the rules, and what is stored.
#include "core/ascii.hpp"
#include "fuzz/require.hpp"
#include "ingest/api/encryption_headers.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

using namespace beckon::ingest;
using beckon::test::require;

namespace {

constexpr std::string_view kNames[] = {"dh", "salt", "p256ecdsa"};

bool is_base64url(std::string_view text) {
    return !text.empty() && text.find_first_not_of(
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
                                "uvwxyz0123456789-_") == std::string_view::npos;
}

/// Every item has its `=`.
bool is_list(std::string_view text) {
    bool equals = false;
    for (const char c : text) {
        if (c == '=') equals = true;
        if (c != ',' && c != ';') continue;
        if (!equals) return false;
        equals = false;
    }
    return equals;
}

std::string without(std::string_view text, std::string_view letters) {
    std::string out{text};
    std::erase_if(out, [letters](char c) { return letters.find(c) != std::string_view::npos; });
    return out;
}

void normalization(std::string_view text) {
    const auto once = normalized(text);
    require(once.find('"') == std::string::npos);
    require(normalized(once) == once);
    // Nothing but quotes and padding goes, and names become lower case: the separators, for one,
    // stay.
    require(beckon::core::lower(without(once, "=")) == beckon::core::lower(without(text, "=\"")));
    // It changes no value, but for the padding. (Quotes may be part of a name, blanks end a value.)
    if (text.find_first_of("\" \t") != std::string_view::npos || !is_list(once)) return;
    for (const auto name : kNames) {
        const auto raw = find_parameter(text, name).value;
        const auto value = find_parameter(once, name).value;
        require(raw.has_value() == value.has_value());
        require(!raw || raw->substr(0, raw->find_last_not_of('=') + 1) == *value);
    }
}

void rules(std::optional<std::string_view> encryption, std::optional<std::string_view> crypto_key) {
    for (const std::string_view encoding : {"aesgcm", "aes128gcm"}) {
        RequestHeaders headers;
        headers.add(HeaderName::content_encoding, encoding);
        if (encryption) headers.add(HeaderName::encryption, *encryption);
        if (crypto_key) headers.add(HeaderName::crypto_key, *crypto_key);
        const auto checked = check_encryption(headers);
        if (!checked) {
            require(checked.error().problem == Problem::bad_encryption);
            continue;
        }
        require(checked->encoding == encoding);
        require(checked->encryption.has_value() == headers.get(HeaderName::encryption).has_value());
        require(checked->crypto_key.has_value() == headers.get(HeaderName::crypto_key).has_value());
        const bool old = encoding == "aesgcm";  // the two encodings want the opposite of each other
        require(!old || checked->encryption);
        const auto one = [old](const std::optional<std::string>& header, std::string_view name) {
            if (!header) return;
            const auto found = find_parameter(*header, name);
            require(found.parsable && found.value.has_value() == old);
            require(!old || is_base64url(found.value->substr(0, found.value->find('='))));
        };
        one(checked->encryption, "salt");
        one(checked->crypto_key, "dh");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    for (const auto name : kNames) {
        const auto found = find_parameter(text, name);
        require(found.parsable == is_list(text));
        require(found.parsable || !found.value);
    }
    normalization(text);
    const auto line = text.find('\n');
    const auto first = text.substr(0, line);
    const auto second =
        line == std::string_view::npos ? std::nullopt : std::optional{text.substr(line + 1)};
    rules(first, second);
    rules(std::nullopt, second);
    return 0;
}
