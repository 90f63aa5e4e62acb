#include "retry/event/filter/percolator.hpp"

#include "retry/event/filter/field_path.hpp"
#include "retry/event/filter/heap.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace beckon::retry {

namespace {

/// The type of entries that want every type.
constexpr std::string_view kEveryType = "*";

/// Whether it is enabled, and one of its types, `order.created` or `order.*`, is that of an event.
bool is_for(const Percolator::Entry& entry, std::string_view type) {
    const auto fits = [type](std::string_view wanted) {
        if (!wanted.ends_with('*')) return wanted == type;
        return type.starts_with(wanted.substr(0, wanted.size() - 1));
    };
    return entry.enabled &&
           (entry.types.empty() || std::any_of(entry.types.begin(), entry.types.end(), fits));
}

std::optional<RequiredTerms> required_terms(const Percolator::Entry& entry) {
    return entry.query ? entry.query->required() : std::nullopt;
}

}  // namespace

struct Percolator::Impl {
    /// Keys are texts of the entry that they lead to, so each text is held once.
    using Index = std::set<std::pair<std::string_view, const Entry*>>;
    using Entries = std::vector<const Entry*>;

    /// The terms that entries require at one path.
    struct Field {
        FieldPath path;
        Index terms;
    };
    /// The entries of one owner. An entry stands under each term that it requires, or if it
    /// requires none under each of its types.
    struct Owner {
        Entries entries;
        Index by_type;
        std::map<std::string, Field, std::less<>> by_field;
    };

    std::unordered_map<std::string, std::unique_ptr<Entry>> entries;
    std::map<std::string, Owner, std::less<>> owners;

    /// Its keys in an index: its types, or the terms of which it requires one.
    static std::vector<std::string_view> keys_of(const Entry& entry,
                                                 const std::optional<RequiredTerms>& required) {
        if (required) return required->values;
        if (entry.types.empty()) return {kEveryType};
        return {entry.types.begin(), entry.types.end()};
    }
    static Index& index_of(Owner& owner, const std::optional<RequiredTerms>& required) {
        if (!required) return owner.by_type;
        const std::string path{required->field};
        return owner.by_field.try_emplace(path, Field{FieldPath{path}, {}}).first->second.terms;
    }
    void index(const Entry& entry) {
        auto& owner = owners[entry.owner];
        owner.entries.push_back(&entry);
        const auto required = required_terms(entry);
        auto& index = index_of(owner, required);
        for (const auto& key : keys_of(entry, required)) index.emplace(key, &entry);
    }
    void unindex(const Entry& entry) {
        const auto at = owners.find(entry.owner);
        auto& owner = at->second;
        std::erase(owner.entries, &entry);
        const auto required = required_terms(entry);
        auto& index = index_of(owner, required);
        for (const auto& key : keys_of(entry, required)) index.erase({key, &entry});
        if (required && index.empty()) owner.by_field.erase(std::string{required->field});
        if (owner.entries.empty()) owners.erase(at);
    }

    /// The enabled entries for the type, each once: entries without a required term, and entries
    /// with a required term that the event has.
    static Entries candidates(const Owner& owner, const JsonTree& event, std::string_view type,
                              Steps& steps) {
        Entries found;
        const auto add = [&](const Index& index, std::string_view key) {
            for (auto one = index.lower_bound({key, nullptr});
                 one != index.end() && one->first == key && steps.take(); ++one) {
                found.push_back(one->second);
            }
            return false;  // goes on
        };
        add(owner.by_type, kEveryType);
        add(owner.by_type, type);
        std::string family;
        for (auto dot = type.find('.'); dot != std::string::npos; dot = type.find('.', dot + 1)) {
            if (owner.by_type.empty() || !steps.take_text(dot)) break;
            add(owner.by_type, family.assign(type, 0, dot + 1).append(1, '*'));
        }
        for (const auto& [name, field] : owner.by_field) {
            field.path.any(event.root(), steps, [&, &terms = field.terms](const auto& value) {
                const auto term = term_of(value);
                return term && steps.take_text(term->size()) && add(terms, *term);
            });
        }
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        std::erase_if(found, [&](const Entry* entry) {
            return !steps.take(1 + entry->types.size()) || !is_for(*entry, type);
        });
        return found;
    }

    /// Entries that may match, in the order in which they are evaluated.
    static Entries ask_index(const Owner& owner, const JsonTree& event, Steps& steps) {
        const auto type = event.text_of("type");
        const auto of_index = std::min(steps.left(), Steps::kMaxOfFilter);
        Steps some{of_index};
        auto entries = candidates(owner, event, type, some);
        steps.take(of_index - some.left());
        if (some.exhausted()) {  // then all enabled entries for the type are candidates
            entries.clear();
            std::copy_if(owner.entries.begin(), owner.entries.end(), std::back_inserter(entries),
                         [type](const Entry* entry) { return is_for(*entry, type); });
        }
        const auto order = [](const Entry* entry) {
            return std::tuple{entry->query ? entry->query->cost() : 0, std::string_view{entry->id}};
        };
        std::sort(entries.begin(), entries.end(),
                  [&](const Entry* a, const Entry* b) { return order(a) < order(b); });
        return entries;
    }

    static Percolator::Match evaluate(const Entries& candidates, const JsonTree& event,
                                      core::Timestamp now, Steps& steps, std::size_t part) {
        Match match;
        const auto before = steps.left();
        for (const auto* entry : candidates) {
            // Without steps nothing is evaluated: that costs no more now than later.
            if (steps.left() > 0 && before - steps.left() >= part) {
                match.rest.push_back(entry->id);
                continue;
            }
            const auto of_filter = std::min(steps.left(), Steps::kMaxOfFilter);
            Steps some{of_filter};
            match.evaluated += entry->query ? 1 : 0;
            const auto matched = entry->query ? entry->query->matches(event, now, some) : true;
            steps.take(of_filter - some.left());
            if (matched && !*matched) continue;
            (matched ? match.ids : match.too_costly).push_back(entry->id);
        }
        std::sort(match.ids.begin(), match.ids.end());
        std::sort(match.too_costly.begin(), match.too_costly.end());
        return match;
    }
};

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

void Percolator::enable(const std::string& id, bool enabled) {
    const auto found = impl_->entries.find(id);
    if (found != impl_->entries.end()) found->second->enabled = enabled;
}

std::size_t Percolator::size() const { return impl_->entries.size(); }

std::vector<std::string> Percolator::owners() const {
    std::vector<std::string> names;
    names.reserve(impl_->owners.size());
    for (const auto& [name, owner] : impl_->owners) names.push_back(name);
    return names;
}

Percolator::Match Percolator::match(const JsonTree& event, std::string_view owner,
                                    core::Timestamp now, Steps& steps, std::size_t part) const {
    const auto found = impl_->owners.find(owner);
    if (found == impl_->owners.end()) return {};
    const auto before = steps.left();
    const auto candidates = Impl::ask_index(found->second, event, steps);
    const auto taken = before - steps.left();
    return Impl::evaluate(candidates, event, now, steps, part - std::min(part, taken));
}

Percolator::Match Percolator::go_on(const std::vector<std::string>& rest, const JsonTree& event,
                                    core::Timestamp now, Steps& steps, std::size_t part) const {
    const auto type = event.text_of("type");
    Impl::Entries candidates;
    for (const auto& id : rest) {
        const auto found = impl_->entries.find(id);
        if (found == impl_->entries.end() || !is_for(*found->second, type)) continue;
        candidates.push_back(found->second.get());
    }
    return Impl::evaluate(candidates, event, now, steps, part);
}

std::size_t Percolator::bytes_of(const Entry& entry) {
    constexpr auto kTreeNode = 4 * sizeof(void*) + kBlockOverhead;
    constexpr auto kIndexed = sizeof(Impl::Index::value_type) + kTreeNode;
    // Each entry counts the bytes of its owner, though only the first one adds them.
    constexpr auto kOwner = kTreeNode + sizeof(std::string) + sizeof(Impl::Owner);
    auto bytes = 4 * kIndexed + kOwner + sizeof(Entry) + kBlockOverhead + heap_of(entry.id) * 2 +
                 heap_of(entry.owner) * 2 + heap_of(entry.types);
    for (const auto& type : entry.types) bytes += heap_of(type);
    if (entry.query) bytes += entry.query->heap_bytes();
    const auto required = required_terms(entry);
    bytes += Impl::keys_of(entry, required).size() * kIndexed;
    if (!required) return bytes;
    const FieldPath path{std::string{required->field}};
    return bytes + kTreeNode + sizeof(std::string) + sizeof(Impl::Field) + path.heap_bytes() +
           heap_of(path.text());
}

}  // namespace beckon::retry
