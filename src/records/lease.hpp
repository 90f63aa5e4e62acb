#pragma once

#include "core/ids.hpp"
#include "core/record.hpp"

#include <string>
#include <string_view>

/// The lease of a partition (schemas/lease.v1.json).
namespace beckon::core {

/// beckon.lease.v1: `!lease/<epoch>/<node>`, in `ownership` `controller/<role>/<epoch>/<node>`.
struct Lease {
    Epoch epoch = 0;
    std::string_view node{};
    std::string_view role{};  ///< "edge", "retry", …
    bool removed = false;     ///< a tombstone: the winner clears leases of lower epochs
    bool operator==(const Lease&) const = default;
};

/// The lease's form in `notifications` and `subscriptions`; `removed` makes the tombstone.
Record encode(const Lease& event);
/// The key begins with kLeasePrefix; `role` points into `scratch`. Returns why the record cannot be
/// read, or an empty text.
std::string_view read_record(const RecordView& record, std::string& scratch, Lease& into);

}  // namespace beckon::core
