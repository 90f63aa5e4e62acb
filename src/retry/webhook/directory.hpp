#pragma once

#include "core/record.hpp"
#include "retry/filter/percolator.hpp"
#include "retry/webhook/webhook.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// All webhooks: the fold of `webhooks`. Folding a record twice changes nothing. One thread.
class WebhookDirectory {
public:
    explicit WebhookDirectory(SecretBox box) : box_(std::move(box)) {}

    struct Entry {
        Webhook webhook;
        WebhookState state;
        std::string host;
    };

    /// Folds one record. What does not decode is logged, counted and leaves what was there.
    void apply(const core::RecordView& record);
    /// Everything is read again.
    void clear();

    const Entry* find(std::string_view id) const;
    /// Of an owner, by id.
    std::vector<const Entry*> of_owner(std::string_view owner) const;
    std::size_t count_of(std::string_view owner) const;
    std::size_t size() const { return entries_.size(); }
    std::size_t broken() const { return broken_; }

    /// The enabled webhooks that want this event, and may have it: one with `beckonowner` is for
    /// the webhooks of that owner only.
    std::vector<std::string> match(const nlohmann::json& event) const;

    const SecretBox& box() const { return box_; }

private:
    void put(Webhook webhook);
    void erase(const std::string& id);
    void put_state(const std::string& id, WebhookState state);
    void index(const std::string& id);

    SecretBox box_;
    std::map<std::string, Entry, std::less<>> entries_;
    std::map<std::string, WebhookState, std::less<>> states_;  ///< also of those not read yet
    std::map<std::string, std::size_t, std::less<>> owners_;
    Percolator percolator_;
    std::size_t broken_ = 0;
};

}  // namespace beckon::retry
