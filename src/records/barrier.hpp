#pragma once

#include "core/record.hpp"

#include <string_view>

/// The read barrier (schemas/barrier.v1.json).
namespace beckon::core {

/// beckon.barrier.v1: `!barrier/<node>`. A node that has read its own one back has read everything
/// before it (docs/design.md#read-barriers).
struct BarrierRecord {
    std::string_view node{};
    bool operator==(const BarrierRecord&) const = default;
};

Record encode(const BarrierRecord& event);
/// The key begins with kBarrierPrefix. Returns why the record cannot be read, or an empty text.
std::string_view read_record(const RecordView& record, BarrierRecord& into);

}  // namespace beckon::core
