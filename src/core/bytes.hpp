#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

/// Numbers and texts in the rows of stores: numbers big endian, so that they sort, or in groups of
/// seven bits, so that they are short. Plain functions, any thread.
namespace beckon::core {

/// To and from big endian, on the little endian machines that we build for.
template <std::unsigned_integral Int>
constexpr Int swapped(Int number) {
    if constexpr (sizeof(Int) == 2) return __builtin_bswap16(number);
    if constexpr (sizeof(Int) == 4) return __builtin_bswap32(number);
    if constexpr (sizeof(Int) == 8) return __builtin_bswap64(number);
    return number;
}

template <std::unsigned_integral Int>
void put_fixed(char* at, Int number) {
    const Int big = swapped(number);
    std::memcpy(at, &big, sizeof big);
}

template <std::unsigned_integral Int>
Int get_fixed(const char* at) {
    Int big = 0;
    std::memcpy(&big, at, sizeof big);
    return swapped(big);
}

template <std::unsigned_integral Int>
void append_fixed(std::string& out, Int number) {
    char bytes[sizeof(Int)];
    put_fixed(bytes, number);
    out.append(bytes, sizeof bytes);
}

inline void append_varint(std::string& out, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
    out.push_back(static_cast<char>(number));
}

/// With its length before it.
inline void append_text(std::string& out, std::string_view text) {
    append_varint(out, text.size());
    out.append(text);
}

/// Takes values from the front; after the first that is not there, good() is false and all are 0.
class ByteReader {
public:
    explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

    template <std::unsigned_integral Int>
    Int fixed() {
        const auto bytes = take(sizeof(Int));
        return bytes.empty() ? Int{0} : get_fixed<Int>(bytes.data());
    }
    std::uint64_t varint() {
        std::uint64_t number = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const auto byte = fixed<std::uint8_t>();
            number |= std::uint64_t{byte & 0x7fU} << shift;
            if ((byte & 0x80) == 0) return good_ ? number : 0;
        }
        fail();
        return 0;
    }
    /// A text that append_text() wrote.
    std::string_view text() { return take(varint()); }
    /// Empty if there are fewer.
    std::string_view take(std::size_t count) {
        if (rest_.size() < count) {
            fail();
            return {};
        }
        const auto taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }
    std::string_view take_rest() { return std::exchange(rest_, {}); }

    std::string_view rest() const { return rest_; }
    bool good() const { return good_; }
    /// Everything was there, and nothing more.
    bool finished() const { return good_ && rest_.empty(); }

private:
    void fail() {
        good_ = false;
        rest_ = {};
    }

    std::string_view rest_;
    bool good_ = true;
};

}  // namespace beckon::core
