#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Numbers in rows: big endian, so that they sort, or in groups of seven bits, so that they are
/// short.
namespace beckon::reliability {

template <std::unsigned_integral Int>
void append_fixed(std::string& out, Int number) {
    for (int shift = static_cast<int>(sizeof(Int)) * 8 - 8; shift >= 0; shift -= 8) {
        out.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> shift & 0xff));
    }
}

inline void append_varint(std::string& out, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
    out.push_back(static_cast<char>(number));
}

/// Takes numbers from the front; after the first that is not there, good() is false and all are 0.
class ByteReader {
public:
    explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

    template <std::unsigned_integral Int>
    Int fixed() {
        if (rest_.size() < sizeof(Int)) return fail<Int>();
        std::uint64_t number = 0;
        for (std::size_t i = 0; i < sizeof(Int); ++i) {
            number = number << 8 | static_cast<std::uint8_t>(rest_[i]);
        }
        rest_.remove_prefix(sizeof(Int));
        return static_cast<Int>(number);
    }
    std::uint64_t varint() {
        std::uint64_t number = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const auto byte = fixed<std::uint8_t>();
            number |= std::uint64_t{byte & 0x7fU} << shift;
            if ((byte & 0x80) == 0) return good_ ? number : 0;
        }
        return fail<std::uint64_t>();
    }
    std::string_view rest() const { return rest_; }
    bool good() const { return good_; }
    /// Everything was there, and nothing more.
    bool finished() const { return good_ && rest_.empty(); }

private:
    template <class Int>
    Int fail() {
        good_ = false;
        rest_ = {};
        return 0;
    }
    std::string_view rest_;
    bool good_ = true;
};

}  // namespace beckon::reliability
