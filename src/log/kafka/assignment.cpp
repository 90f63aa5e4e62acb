#include "log/kafka/assignment.hpp"

#include "core/bytes.hpp"

#include <cstdint>
#include <string>

namespace beckon::log::kafka {

std::optional<std::vector<NamedPartition>> parse_assignment(std::string_view bytes) {
    std::vector<NamedPartition> found;
    if (bytes.empty()) return found;  // a member that has nothing
    core::ByteReader in{bytes};
    in.fixed<std::uint16_t>();  // the version
    const auto topics = in.fixed<std::uint32_t>();
    for (std::uint32_t t = 0; t < topics && in.good(); ++t) {
        const std::string topic{in.take(in.fixed<std::uint16_t>())};
        const auto partitions = in.fixed<std::uint32_t>();
        for (std::uint32_t p = 0; p < partitions && in.good(); ++p) {
            found.push_back({topic, static_cast<core::Partition>(in.fixed<std::uint32_t>())});
        }
    }
    if (!in.good()) return std::nullopt;
    return found;
}

}  // namespace beckon::log::kafka
