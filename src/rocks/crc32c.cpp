#include "rocks/crc32c.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace beckon::rocks {

#if defined(__x86_64__)

namespace {

__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::uint32_t crc, const char* data,
                                                               std::size_t size) {
    std::uint64_t sum = ~crc;
    for (; size >= sizeof(std::uint64_t); size -= sizeof(std::uint64_t)) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, data, sizeof eight);
        sum = _mm_crc32_u64(sum, eight);
        data += sizeof eight;
    }
    auto rest = static_cast<std::uint32_t>(sum);
    for (; size > 0; --size) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(*data++));
    return ~rest;
}

}  // namespace

std::uint32_t crc32c(std::uint32_t crc, const char* data, std::size_t size) {
    static const bool possible = __builtin_cpu_supports("sse4.2") != 0;
    return possible ? by_instruction(crc, data, size) : crc32c_by_tables(crc, data, size);
}

#else

std::uint32_t crc32c(std::uint32_t crc, const char* data, std::size_t size) {
    return crc32c_by_tables(crc, data, size);
}

#endif

}  // namespace beckon::rocks
