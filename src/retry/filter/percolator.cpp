#include "retry/filter/percolator.hpp"

#include "retry/filter/event_values.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using Json = nlohmann::json;

namespace {

/// The key under which entries of every type stand.
const std::string kEveryType = "*";

/// `order.created` → itself, `order.*`, `*`.
std::vector<std::string> keys_of_type(const std::string& type) {
    std::vector<std::string> keys{type, kEveryType};
    for (auto dot = type.find('.'); dot != std::string::npos; dot = type.find('.', dot + 1)) {
        keys.push_back(type.substr(0, dot) + ".*");
    }
    return keys;
}

}  // namespace

struct Percolator::Impl {
    using Ids = std::set<const Entry*>;
    /// The entries of one type: by field and term that they require, and those that require none.
    struct Bucket {
        std::map<std::string, std::unordered_map<std::string, Ids>> by_term;
        Ids others;
        bool empty() const { return by_term.empty() && others.empty(); }
    };

    std::unordered_map<std::string, std::unique_ptr<Entry>> entries;
    std::unordered_map<std::string, Bucket> buckets;
    mutable std::size_t evaluated = 0;

    static std::vector<std::string> types_of(const Entry& entry) {
        return entry.types.empty() ? std::vector{kEveryType} : entry.types;
    }
    void index(const Entry& entry);
    void unindex(const Entry& entry);
    void candidates(const Bucket& bucket, const Json& event, Ids& found) const;
};

void Percolator::Impl::index(const Entry& entry) {
    const auto required = entry.query ? entry.query->required() : std::nullopt;
    for (const auto& type : types_of(entry)) {
        auto& bucket = buckets[type];
        if (!required) {
            bucket.others.insert(&entry);
            continue;
        }
        for (const auto& value : required->values) {
            bucket.by_term[required->field][value].insert(&entry);
        }
    }
}

void Percolator::Impl::unindex(const Entry& entry) {
    const auto required = entry.query ? entry.query->required() : std::nullopt;
    for (const auto& type : types_of(entry)) {
        auto& bucket = buckets[type];
        bucket.others.erase(&entry);
        if (required) {
            auto& terms = bucket.by_term[required->field];
            for (const auto& value : required->values) {
                const auto found = terms.find(value);
                if (found == terms.end()) continue;
                found->second.erase(&entry);
                if (found->second.empty()) terms.erase(found);
            }
            if (terms.empty()) bucket.by_term.erase(required->field);
        }
        if (bucket.empty()) buckets.erase(type);
    }
}

void Percolator::Impl::candidates(const Bucket& bucket, const Json& event, Ids& found) const {
    found.insert(bucket.others.begin(), bucket.others.end());
    for (const auto& [field, terms] : bucket.by_term) {
        for (const auto* value : values_at(event, field)) {
            const auto at = terms.find(term_of(*value));
            if (at != terms.end()) found.insert(at->second.begin(), at->second.end());
        }
    }
}

Percolator::Percolator() : impl_(std::make_unique<Impl>()) {}
Percolator::~Percolator() = default;

void Percolator::put(Entry entry) {
    remove(entry.id);
    auto owned = std::make_unique<Entry>(std::move(entry));
    impl_->index(*owned);
    auto id = owned->id;
    impl_->entries.emplace(std::move(id), std::move(owned));
}

void Percolator::remove(const std::string& id) {
    const auto found = impl_->entries.find(id);
    if (found == impl_->entries.end()) return;
    impl_->unindex(*found->second);
    impl_->entries.erase(found);
}

std::size_t Percolator::size() const { return impl_->entries.size(); }

std::vector<std::string> Percolator::match(const Json& event) const {
    Impl::Ids found;
    const auto type = event.find("type");
    const auto keys = type != event.end() && type->is_string()
                          ? keys_of_type(type->get<std::string>())
                          : std::vector{kEveryType};
    for (const auto& key : keys) {
        const auto bucket = impl_->buckets.find(key);
        if (bucket != impl_->buckets.end()) impl_->candidates(bucket->second, event, found);
    }
    impl_->evaluated = found.size();
    std::vector<std::string> ids;
    for (const auto* entry : found) {
        if (!entry->query || entry->query->matches(event)) ids.push_back(entry->id);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

std::size_t Percolator::evaluated() const { return impl_->evaluated; }

}  // namespace beckon::retry
