#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

namespace beckon::ingest {

/// Verified (token, key) pairs, by a SHA-256 over both. Bounded: the least recently used entry
/// goes. The caller checks time on every use. One thread.
class VapidCache {
public:
    using Digest = std::array<std::uint8_t, 32>;

    struct Verified {
        std::int64_t exp_s = 0;
        Digest key_sha256{};
    };

    explicit VapidCache(std::size_t entries_max) : entries_max_(entries_max) {}

    std::optional<Verified> find(const Digest& digest);
    void put(const Digest& digest, const Verified& verified);
    void erase(const Digest& digest);
    std::size_t size() const { return index_.size(); }

private:
    static constexpr std::uint32_t kNone = 0xffffffff;
    struct Hash {
        std::size_t operator()(const Digest& digest) const noexcept {
            std::size_t h;
            std::memcpy(&h, digest.data(), sizeof h);  // a digest is uniform already
            return h;
        }
    };
    struct Entry {
        Digest digest;
        Verified verified;
        std::uint32_t newer = kNone;
        std::uint32_t older = kNone;
    };

    void unlink(std::uint32_t at);
    void push_newest(std::uint32_t at);

    const std::size_t entries_max_;
    std::unordered_map<Digest, std::uint32_t, Hash> index_;
    std::vector<Entry> entries_;  ///< grows to entries_max_, slots are reused
    std::vector<std::uint32_t> free_;
    std::uint32_t newest_ = kNone;
    std::uint32_t oldest_ = kNone;
};

}  // namespace beckon::ingest
