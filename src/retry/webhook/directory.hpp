#pragma once

#include "core/clock.hpp"
#include "core/record.hpp"
#include "retry/event/filter/percolator.hpp"
#include "retry/webhook/memory.hpp"
#include "retry/webhook/webhook.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// All webhooks: the fold of `webhooks`. Folding a record twice changes nothing. One thread.
class WebhookDirectory {
public:
    /// A thread that shows no webhooks has no need of the texts of their filters.
    enum class Filters : bool { kept, compiled };

    explicit WebhookDirectory(SecretBox box, Filters filters = Filters::kept)
        : box_(std::move(box)), filters_(filters) {}

    struct Entry {
        Webhook webhook;  ///< its filter is empty where it is only compiled
        WebhookState state;
        std::string host{};
        std::string filter_digest{};
        std::size_t memory_bytes = 0;  ///< as memory_of() has it
        /// The last event that was too costly for the present filter.
        std::optional<CostlyFilter> costly{};
    };

    /// Folds one record. A record that does not decode is logged and counted, and changes nothing.
    void apply(const core::RecordView& record);
    /// Drops all webhooks: all records are read again.
    void clear();

    const Entry* find(std::string_view id) const;
    /// The ids of webhooks that are not there, although records about them are: those of webhooks
    /// that were deleted, and while the webhooks are being read also of webhooks that come later
    /// (compaction keeps the last record of each key, in any order).
    const std::set<std::string, std::less<>>& without_webhook() const { return without_webhook_; }
    /// Sees one webhook after the other; false: it has seen enough.
    using Visit = std::function<bool(const Entry&)>;
    /// All webhooks behind an id, by id.
    void each(std::string_view after, const Visit& visit) const;
    /// Likewise, the webhooks of an owner.
    void each_of(std::string_view owner, std::string_view after, const Visit& visit) const;
    std::size_t count_of(std::string_view owner) const { return usage_of(owner).webhooks; }
    /// Memory that the webhooks of an owner hold, and those of all owners.
    Usage usage_of(std::string_view owner) const;
    std::size_t memory_bytes() const { return memory_bytes_; }
    std::size_t size() const { return entries_.size(); }
    std::size_t broken() const { return broken_; }
    /// Webhooks that were disabled since their receiver failed for long or said 410, not by their
    /// owner.
    std::size_t disabled() const { return disabled_; }

    /// Matches an event with the enabled webhooks of one owner. The caller has checked that the
    /// event may reach that owner.
    const Percolator& filters() const { return percolator_; }

    const SecretBox& box() const { return box_; }

private:
    void put(Webhook webhook);
    void erase(const std::string& id);
    /// The records about a webhook beside its own: they may come before it, and stay behind it.
    struct Beside {
        std::optional<WebhookState> state;
        std::optional<CostlyFilter> costly;
    };
    template <class T>
    void put_beside(const std::string& id, std::optional<T> Beside::*member,
                    const core::RecordView& record, core::Result<T> value);
    void refresh(const std::string& id);
    void refuse(const core::RecordView& record, const core::Error& why);
    std::size_t index(const Entry& entry);
    void no_longer_counted(const Entry& entry);

    struct Owner {
        Usage usage;
        std::map<std::string_view, const Entry*> webhooks;  ///< by id
    };

    SecretBox box_;
    Filters filters_;
    std::map<std::string, Entry, std::less<>> entries_;
    std::map<std::string, Beside, std::less<>> beside_;
    std::set<std::string, std::less<>> without_webhook_;  ///< ids that `beside_` has
    std::map<std::string, Owner, std::less<>> owners_;
    Percolator percolator_;
    std::size_t memory_bytes_ = 0;
    std::size_t broken_ = 0;
    std::size_t disabled_ = 0;
};

}  // namespace beckon::retry
