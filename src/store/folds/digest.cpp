#include "store/folds/digest.hpp"

#include "store/rows/schema.hpp"

#include <cstdio>
#include <memory>

#include <openssl/sha.h>

namespace beckon::store {

void Digest::add(std::initializer_list<std::string_view> parts) {
    std::string row;
    for (const auto part : parts) {
        row += std::to_string(part.size());
        row += ':';
        row += part;
    }
    std::array<std::uint64_t, 4> hash{};
    static_assert(sizeof hash == SHA256_DIGEST_LENGTH);
    SHA256(reinterpret_cast<const unsigned char*>(row.data()), row.size(),
           reinterpret_cast<unsigned char*>(hash.data()));
    for (std::size_t i = 0; i < hash.size(); ++i) sum_[i] += hash[i];
}

std::string Digest::text() const {
    if (spoilt_) return "unreadable";
    std::string out;
    for (const auto word : sum_) {
        char digits[17];
        std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(word));
        out += digits;
    }
    return out;
}

void add_subscriptions(Digest& digest, const SubscriptionTables& tables,
                       core::Partition partition) {
    std::vector<std::string> living;  // prefixes, ascending as scanned
    const auto range = partition_range(partition);
    const auto clients =
        tables.database.scan(tables.clients_family, range, [&](auto key, auto value) {
            const auto row = parse_client_row(value);
            if (!row || !row->live) return true;
            living.emplace_back(key);
            digest.add({"client", key, value});
            return true;
        });
    auto client = living.cbegin();
    const auto channels =
        tables.database.scan(tables.channels_family, range, [&](auto key, auto value) {
            const auto prefix = key.substr(0, kPrefixBytes);
            while (client != living.cend() && *client < prefix) ++client;
            const auto row = parse_channel_row(key, value);
            const bool lives = client != living.cend() && *client == prefix;
            if (lives && row && row->live) digest.add({"channel", key, value});
            return true;
        });
    if (!clients || !channels) digest.spoil();
}

}  // namespace beckon::store
