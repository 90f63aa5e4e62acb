#include "records/lease.hpp"

#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "records/fields.hpp"
#include "records/log_key.hpp"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::core {

namespace {

std::string lease_log_key(const Lease& lease) {
    return std::string{kLeasePrefix}.append(padded(lease.epoch)).append("/").append(lease.node);
}

}  // namespace

Record encode(const Lease& event) {
    std::optional<std::string> value;
    if (!event.removed) {
        value = core::json_text(
            Json{{"epoch", event.epoch}, {"node", event.node}, {"role", event.role}});
    }
    return state_record(lease_log_key(event), "beckon.lease.v1", std::move(value));
}

std::string_view read_record(const RecordView& record, std::string& scratch, Lease& into) {
    const std::string_view tail = record.key.substr(kLeasePrefix.size());
    if (tail.size() < kEpochDigits + 2 || tail[kEpochDigits] != '/') {
        return "lease key is not !lease/<20 digits>/<node>";
    }
    const auto epoch = parse_decimal<Epoch>(tail.substr(0, kEpochDigits));
    if (!epoch) return "lease key has no epoch";
    into = {.epoch = *epoch,
            .node = tail.substr(kEpochDigits + 1),
            .role = {},
            .removed = !record.value.has_value()};
    if (into.removed) return {};
    const auto [json, why] = parse_object(*record.value);
    if (!why.empty()) return why;
    const Json* written_epoch = find_member(json, "epoch");
    const std::string* written_node = find_text(json, "node");
    const std::string* role = find_text(json, "role");
    if (!written_epoch || !written_node || !role) return "lease lacks epoch, node or role";
    if (*written_epoch != into.epoch || *written_node != into.node)
        return "lease differs from its key";
    scratch = *role;
    into.role = scratch;
    return {};
}

}  // namespace beckon::core
