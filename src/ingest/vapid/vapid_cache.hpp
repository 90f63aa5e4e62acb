#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

namespace beckon::ingest {

/// Verified (token, key) pairs, by a SHA-256 over both. The caller checks time on every use. One
/// thread.
///
/// Bounded, in two segments, each in order of its last use: a pair is new until it is found for the
/// first time, and proven from then on. New pairs make space first. Every client can make keys and
/// sign tokens with them, so the pairs of a flood, each used once, evict each other and no pair of
/// a sender that comes again.
class VapidCache {
public:
    using Digest = std::array<std::uint8_t, 32>;

    struct Verified {
        std::int64_t exp_s = 0;
        Digest key_sha256{};
    };

    explicit VapidCache(std::size_t entries_max)
        : entries_max_(entries_max), proven_max_(entries_max - entries_max / 5) {}

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
    enum Segment : std::uint8_t { kNew, kProven };
    struct Entry {
        Digest digest;
        Verified verified;
        std::uint32_t newer = kNone;
        std::uint32_t older = kNone;
        Segment segment = kNew;
    };
    struct List {
        std::uint32_t newest = kNone;
        std::uint32_t oldest = kNone;
        std::size_t size = 0;
    };

    List& list_of(std::uint32_t at) { return lists_[entries_[at].segment]; }
    void unlink(std::uint32_t at);
    void push_newest(std::uint32_t at, Segment segment);
    void make_capacity();
    std::uint32_t free_slot();

    const std::size_t entries_max_;
    const std::size_t proven_max_;
    std::unordered_map<Digest, std::uint32_t, Hash> index_;
    std::vector<Entry> entries_;  ///< grows to entries_max_, slots are reused
    std::vector<std::uint32_t> free_;
    std::array<List, 2> lists_;
};

}  // namespace beckon::ingest
