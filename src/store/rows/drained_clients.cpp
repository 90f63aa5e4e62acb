#include "store/rows/drained_clients.hpp"

#include "store/rows/row_key.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace beckon::store {

namespace {

class DrainedClients final : public rocksdb::TablePropertiesCollector {
public:
    const char* Name() const override { return "beckon.drained"; }
    /// Rows come in the order of their keys, so those of a client follow each other.
    rocksdb::Status AddUserKey(const rocksdb::Slice& key, const rocksdb::Slice&,
                               rocksdb::EntryType type, rocksdb::SequenceNumber,
                               std::uint64_t) override {
        const auto prefix = std::min(key.size(), kPrefixBytes);
        if (client_.compare(0, client_.npos, key.data(), prefix) != 0) {
            client_.assign(key.data(), prefix);
            deleted_ = 0;
        }
        deleted_ = std::max(0, deleted_ + (type == rocksdb::kEntryDelete ? 1 : -1));
        drained_ = drained_ || deleted_ >= kDrainedRows;
        return rocksdb::Status::OK();
    }
    bool NeedCompact() const override { return drained_; }
    rocksdb::Status Finish(rocksdb::UserCollectedProperties*) override {
        return rocksdb::Status::OK();
    }
    rocksdb::UserCollectedProperties GetReadableProperties() const override { return {}; }

private:
    std::string client_;
    int deleted_ = 0;  ///< how many more rows of the client are deleted than not
    bool drained_ = false;
};

class DrainedClientsFactory final : public rocksdb::TablePropertiesCollectorFactory {
public:
    const char* Name() const override { return "beckon.drained"; }
    rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(
        rocksdb::TablePropertiesCollectorFactory::Context) override {
        return new DrainedClients;
    }
};

}  // namespace

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> marks_drained_clients() {
    return std::make_shared<DrainedClientsFactory>();
}

}  // namespace beckon::store
