#include "store/folds/digest.hpp"

#include "store/rows/schema.hpp"

#include <cstdio>
#include <memory>

#include <openssl/sha.h>
#include <rocksdb/iterator.h>

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

bool scan_partition(
    rocksdb::DB& db, rocksdb::ColumnFamilyHandle& family, core::Partition partition,
    const std::function<void(std::string_view key, std::string_view value)>& visit) {
    const auto range = partition_range(partition);
    const auto end = slice(range.end);
    const std::unique_ptr<rocksdb::Iterator> it{db.NewIterator(scan_options(end), &family)};
    for (it->Seek(slice(range.begin)); it->Valid(); it->Next())
        visit(view(it->key()), view(it->value()));
    return it->status().ok();
}

void add_subscriptions(Digest& digest, const SubscriptionTables& tables,
                       core::Partition partition) {
    std::vector<std::string> living;  // prefixes, ascending as scanned
    bool readable =
        scan_partition(tables.db, *tables.clients_family, partition, [&](auto key, auto value) {
            const auto row = parse_client_row(value);
            if (!row || !row->live) return;
            living.emplace_back(key);
            digest.add({"client", key, value});
        });
    auto client = living.cbegin();
    readable &=
        scan_partition(tables.db, *tables.channels_family, partition, [&](auto key, auto value) {
            const auto prefix = key.substr(0, kPrefixBytes);
            while (client != living.cend() && *client < prefix) ++client;
            const auto row = parse_channel_row(key, value);
            if (client == living.cend() || *client != prefix || !row || !row->live) return;
            digest.add({"channel", key, value});
        });
    if (!readable) digest.spoil();
}

}  // namespace beckon::store
