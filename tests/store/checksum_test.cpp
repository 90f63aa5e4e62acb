#include "rocks/crc32c.hpp"

#include <random>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

/// rocksdb::crc32c::Extend(), as RocksDB's own files call it.
std::uint32_t extend(std::uint32_t crc, const char* data,
                     std::size_t size) __asm__("_ZN7rocksdb6crc32c6ExtendEjPKcm");

namespace {

std::uint32_t checksum(std::string_view bytes, std::uint32_t before = 0) {
    return extend(before, bytes.data(), bytes.size());
}

}  // namespace

TEST_CASE("checksums are computed by our function, which is RocksDB's in value", "[store]") {
    // Only at run time: the compiler takes functions of two names for two functions.
    using Function = std::uint32_t (*)(std::uint32_t, const char*, std::size_t);
    volatile Function called = extend;
    volatile Function ours = beckon::rocks::crc32c;
    CHECK(called == ours);
    CHECK(checksum("123456789") == 0xe3069283);
    CHECK(checksum(std::string(32, '\0')) == 0x8a9136aa);  // RFC 3720, appendix B.4
    std::mt19937 random{1};
    std::string bytes;
    for (std::size_t size = 0; size < 300; ++size) {
        const auto whole = checksum(bytes);
        REQUIRE(whole == beckon::rocks::crc32c_by_tables(0, bytes.data(), bytes.size()));
        const auto part = random() % (size + 1);  // at any address
        const auto front = checksum(std::string_view{bytes}.substr(0, part));
        REQUIRE(checksum(std::string_view{bytes}.substr(part), front) == whole);
        bytes.push_back(static_cast<char>(random()));
    }
}
