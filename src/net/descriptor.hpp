#pragma once

#include "core/descriptors.hpp"

#include <cstddef>
#include <vector>

namespace beckon::net {

using core::Descriptor;

/// File descriptors that belong to one port, whatever else the process opens: placeholders, each of
/// which makes way for a connection when only the process's last descriptors are free. The
/// descriptor of a connection that ends becomes a placeholder again without being free meanwhile.
/// One thread.
class OwnDescriptors {
public:
    explicit OwnDescriptors(std::size_t count);

    /// A placeholder to replace or close; none if all have made way.
    Descriptor take();
    /// Closes a connection's descriptor, or keeps it as a placeholder.
    void give_back(Descriptor descriptor);
    /// Opens those that have made way, where that takes none of the last descriptors.
    void refill();

private:
    const std::size_t count_;
    std::vector<Descriptor> placeholders_;
};

}  // namespace beckon::net
