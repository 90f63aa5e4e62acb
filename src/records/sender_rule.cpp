#include "records/sender_rule.hpp"

#include "core/ascii.hpp"
#include "core/base64url.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/overloaded.hpp"
#include "core/whole_number.hpp"
#include "records/fields.hpp"

#include <nlohmann/json.hpp>

namespace beckon::core {

namespace {

constexpr std::string_view kBlocked = "blocked/";
constexpr std::string_view kLimit = "limit/";

Result<void> refuse(const std::string& why) { return fail(Fault::invalid, why); }

Result<void> check_blocked(const BlockedSender& sender) {
    const bool hashed = sender.kind != SenderKind::owner;
    if (hashed && !parse_sha256(sender.name)) {
        return refuse("the name of a VAPID key or a subscription must be 64 hex digits");
    }
    if (!hashed && !is_owner_name(sender.name)) {
        return refuse("an owner's name is 1 to 64 lower-case letters, digits, - and _");
    }
    if (sender.why.size() <= kBlockedWhyMax) return {};
    return refuse("the reason may have " + std::to_string(kBlockedWhyMax) + " bytes");
}

Result<void> check_limit(const SenderLimit& limit) {
    if (limit.kind == SenderKind::owner) {
        return refuse(
            "events of owners have a limit of their own, "
            "retry.events_per_owner_per_second");
    }
    if (limit.per_second <= kSenderLimitMax) return {};
    return refuse("the limit may be " + std::to_string(kSenderLimitMax) + " messages a second");
}

std::optional<SenderRule> decode_blocked(std::string_view rest,
                                         std::optional<std::string_view> value) {
    const auto slash = rest.find('/');
    if (slash == rest.npos) return std::nullopt;
    const auto kind = value_named<SenderKind>(rest.substr(0, slash));
    if (!kind) return std::nullopt;
    BlockedSender sender{
        .kind = *kind, .name = std::string{rest.substr(slash + 1)}, .blocked = value.has_value()};
    if (!value) return sender;
    const auto [json, why] = parse_object(*value);
    const auto since = why.empty() ? read_time(json, "since") : std::nullopt;
    if (!since) return std::nullopt;
    sender.since = *since;
    sender.why = text_member(json, "why");
    return sender;
}

std::optional<SenderRule> decode_limit(std::string_view rest,
                                       std::optional<std::string_view> value) {
    const auto kind = value_named<SenderKind>(rest);
    if (!kind) return std::nullopt;
    SenderLimit limit{.kind = *kind};
    if (!value) return limit;
    const auto [json, why] = parse_object(*value);
    const auto* number = find_member(json, "per_second");
    const auto per_second =
        number ? find_whole_number<std::uint32_t>(*number) : std::optional<std::uint32_t>{};
    if (!per_second) return std::nullopt;
    limit.per_second = *per_second;
    return limit;
}

}  // namespace

bool is_owner_name(std::string_view text) {
    return !text.empty() && text.size() <= kOwnerBytesMax && is_lower_alphanumeric(text, "-_");
}

Sha256 subscription_hash(const Uaid& uaid, const ChannelId& channel) {
    return sha256(to_hex(uaid) + '/' + to_dashed(channel));
}

std::string subscription_name(const Uaid& uaid, const ChannelId& channel) {
    return hex(subscription_hash(uaid, channel));
}

Result<void> check(const SenderRule& rule) {
    return std::visit(Overloaded{[](const BlockedSender& sender) { return check_blocked(sender); },
                                 [](const SenderLimit& limit) { return check_limit(limit); }},
                      rule);
}

Record encode(const SenderRule& rule) {
    return std::visit(
        Overloaded{[](const BlockedSender& sender) {
                       Record record{.key = std::string{kBlocked}
                                                .append(to_string(sender.kind))
                                                .append("/")
                                                .append(sender.name),
                                     .value = std::nullopt,
                                     .headers = {}};
                       if (sender.blocked) {
                           record.value =
                               json_text(Json{{"since", to_ms(sender.since)}, {"why", sender.why}});
                       }
                       return record;
                   },
                   [](const SenderLimit& limit) {
                       Record record{.key = std::string{kLimit}.append(to_string(limit.kind)),
                                     .value = std::nullopt,
                                     .headers = {}};
                       if (limit.per_second > 0) {
                           record.value = json_text(Json{{"per_second", limit.per_second}});
                       }
                       return record;
                   }},
        rule);
}

std::optional<SenderRule> decode_sender_rule(const RecordView& record) {
    std::optional<SenderRule> rule;
    if (record.key.starts_with(kBlocked)) {
        rule = decode_blocked(record.key.substr(kBlocked.size()), record.value);
    } else if (record.key.starts_with(kLimit)) {
        rule = decode_limit(record.key.substr(kLimit.size()), record.value);
    }
    if (rule && !check(*rule)) return std::nullopt;
    return rule;
}

}  // namespace beckon::core
