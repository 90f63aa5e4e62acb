#include "core/partition.hpp"

#include "core/assert.hpp"

namespace beckon::core {

std::uint32_t murmur2(std::string_view data) {
    constexpr std::uint32_t kMultiplier = 0x5bd1e995;
    constexpr std::uint32_t kSeed = 0x9747b28c;
    const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
    const std::size_t size = data.size();
    std::uint32_t h = kSeed ^ static_cast<std::uint32_t>(size);
    std::size_t i = 0;
    for (; i + 4 <= size; i += 4) {
        std::uint32_t k;
        __builtin_memcpy(&k, bytes + i, 4);
        k *= kMultiplier;
        k ^= k >> 24;
        k *= kMultiplier;
        h *= kMultiplier;
        h ^= k;
    }
    const std::size_t rest = size - i;
    if (rest >= 3) h ^= static_cast<std::uint32_t>(bytes[i + 2]) << 16;
    if (rest >= 2) h ^= static_cast<std::uint32_t>(bytes[i + 1]) << 8;
    if (rest >= 1) {
        h ^= bytes[i];
        h *= kMultiplier;
    }
    h ^= h >> 13;
    h *= kMultiplier;
    h ^= h >> 15;
    return h;
}

Partition partition_of(std::string_view key, Partition partitions) {
    BECKON_ASSERT(partitions >= 1, "a log topic has at least one partition");
    return static_cast<Partition>((murmur2(key) & 0x7fffffffU) %
                                  static_cast<std::uint32_t>(partitions));
}

Partition partition_of(const Uaid& uaid, Partition partitions) {
    const auto hex = hex_of(uaid.bytes);  // four times a message: not on the heap
    return partition_of({hex.data(), hex.size()}, partitions);
}

}  // namespace beckon::core
