#include "records/dead_letter.hpp"

#include "core/decimal.hpp"
#include "records/fields.hpp"

namespace beckon::retry {

using core::Fault;

namespace {

constexpr std::string_view kType = "beckon.delivery.settled.v1";
constexpr std::string_view kSettledHop = "ce_hop";

}  // namespace

core::Record encode(const Settled& settled) {
    auto record = core::record_of(settled.webhook, "", kType);
    record.headers.push_back({core::header::kId, settled.delivery});
    record.headers.push_back({kSettledHop, std::to_string(settled.hop)});
    record.headers.push_back({core::header::kReason, std::string{to_string(settled.how)}});
    return record;
}

core::Result<Settled> decode_settled(const core::RecordView& record) {
    if (record.header(core::header::kType) != kType) {
        return core::fail(Fault::not_found, "another type");
    }
    const auto id = record.header(core::header::kId);
    const auto hop = core::parse_decimal<std::uint32_t>(record.header(kSettledHop).value_or(""));
    const auto how = record.header(core::header::kReason);
    if (!id || id->empty() || !hop) {
        return core::fail(Fault::corrupt, "a settled dead letter without id or hop");
    }
    Settled settled;
    settled.delivery = *id;
    settled.hop = *hop;
    settled.webhook = record.key;
    settled.how =
        how == to_string(Settlement::dropped) ? Settlement::dropped : Settlement::redriven;
    return settled;
}

Delivery reborn(const Delivery& dead, core::Timestamp died) {
    auto delivery = dead;
    delivery.hop = dead.hop + 1;
    delivery.attempts = 0;
    delivery.step = 0;
    delivery.accepted = {};
    delivery.last.reset();
    delivery.history.push_back(
        {.at = died, .why = dead.last.value_or(Outcome::undeliverable), .attempts = dead.attempts});
    if (delivery.history.size() > kHistoryMax) delivery.history.erase(delivery.history.begin());
    return delivery;
}

}  // namespace beckon::retry
