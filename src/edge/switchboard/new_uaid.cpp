#include "edge/switchboard/new_uaid.hpp"

#include "core/assert.hpp"

#include <cstdint>
#include <cstring>

namespace beckon::edge {

core::Uaid new_uaid_in(core::Partition partition, core::Partition partitions) {
    BECKON_ASSERT(partition >= 0 && partition < partitions, "a partition is below their number");
    core::Uaid uaid{core::random_uuid4()};
    // The last four bytes count up from a random start: one draw from the generator is enough, and
    // the other 90 random bits stay as drawn.
    std::uint32_t tail = 0;
    std::memcpy(&tail, uaid.bytes.data() + 12, sizeof tail);
    while (core::partition_of(uaid, partitions) != partition) {
        ++tail;
        std::memcpy(uaid.bytes.data() + 12, &tail, sizeof tail);
    }
    return uaid;
}

}  // namespace beckon::edge
