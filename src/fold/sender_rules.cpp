#include "fold/sender_rules.hpp"

#include "core/overloaded.hpp"

#include <algorithm>

namespace beckon::fold {

SenderRules::SenderRules(std::string_view folder, const Context& context)
    : state_({.folder = folder, .inputs = {{log::Topic::kControl, 0}}, .proof = Proof::end},
             {.log = context.log, .executor = context.executor, .clock = context.clock},
             {.apply = [this](auto, const core::RecordView& record) { apply(record); },
              .cleared =
                  [this] {
                      reading_all_ = true;
                      read_ = {};
                  },
              .caught_up =
                  [this] {
                      reading_all_ = false;
                      use_read();
                  }}) {
    state_.start();
}

bool SenderRules::blocks(core::SenderKind kind, std::string_view name) const {
    const std::scoped_lock lock{mutex_};
    return rules_.blocked.contains({kind, std::string{name}});
}

std::uint32_t SenderRules::limit(core::SenderKind kind) const {
    const std::scoped_lock lock{mutex_};
    return rules_.limits[kind];
}

std::vector<core::BlockedSender> SenderRules::blocked() const {
    const std::scoped_lock lock{mutex_};
    std::vector<core::BlockedSender> out;
    for (const auto& [name, sender] : rules_.blocked) out.push_back(sender);
    return out;
}

/// Rules beyond the bound are not followed: their writers refuse them.
void SenderRules::apply(const core::RecordView& record) {
    const auto rule = core::decode_sender_rule(record);
    if (!rule) return;
    std::visit(core::Overloaded{[this](const core::BlockedSender& sender) {
                                    const Name name{sender.kind, sender.name};
                                    if (!sender.blocked) {
                                        read_.blocked.erase(name);
                                    } else if (read_.blocked.size() < core::kBlockedSendersMax) {
                                        read_.blocked.insert_or_assign(name, sender);
                                    }
                                },
                                [this](const core::SenderLimit& limit) {
                                    read_.limits[limit.kind] = limit.per_second;
                                }},
               *rule);
    if (!reading_all_) use_read();
}

void SenderRules::use_read() {
    const auto limited =
        std::any_of(read_.limits.begin(), read_.limits.end(), [](auto limit) { return limit > 0; });
    const std::scoped_lock lock{mutex_};
    rules_ = read_;
    any_ = limited || !rules_.blocked.empty();
}

}  // namespace beckon::fold
