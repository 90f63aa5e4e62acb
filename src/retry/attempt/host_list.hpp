#pragma once

#include "core/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// Hosts that the operator names: `receiver.internal`, or `*.internal` for all names below it.
/// Immutable; any thread.
class HostList {
public:
    HostList() = default;
    /// Errors: invalid (quotes the entry).
    static core::Result<HostList> of(const std::vector<std::string>& names);

    /// In any case, with or without the dot of the root at the end. No address is contained.
    bool contains(std::string_view host) const;
    bool empty() const { return names_.empty() && tails_.empty(); }

private:
    std::vector<std::string> names_;
    std::vector<std::string> tails_;  ///< `.internal`
};

}  // namespace beckon::retry
