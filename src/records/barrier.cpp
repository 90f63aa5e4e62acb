#include "records/barrier.hpp"

#include "records/fields.hpp"
#include "records/log_key.hpp"

#include <optional>
#include <string>

namespace beckon::core {

namespace {

constexpr std::string_view kBarrierType = "beckon.barrier.v1";

}  // namespace

Record encode(const BarrierRecord& event) {
    Record record{.key = std::string{kBarrierPrefix}.append(event.node),
                  .value = std::nullopt,
                  .headers = {}};
    HeaderWriter headers{record, 2};
    headers.add(header::kType, kBarrierType);
    headers.add(header::kNode, event.node);
    return record;
}

std::string_view read_record(const RecordView& record, BarrierRecord& into) {
    into.node = record.key.substr(kBarrierPrefix.size());
    return into.node.empty() ? "read barrier key has no node" : std::string_view{};
}

}  // namespace beckon::core
