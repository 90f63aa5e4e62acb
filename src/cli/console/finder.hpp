#pragma once

#include "console/web/web_server.hpp"
#include "core/key_ring.hpp"
#include "core/partition.hpp"

#include <memory>
#include <string>

namespace beckon::cli {

/// What the installation's key ring and the routing say about a message id, a message URL, an
/// endpoint URL or a UAID. It asks nobody. Any thread.
class Finder {
public:
    Finder(std::shared_ptr<const core::KeyRing> keys, core::Partition partitions);

    /// {"kind", "facts": [{"name", "value"}, …]}; 404 and {"error"} for what is none of these.
    console::Answer find(const std::string& text) const;

private:
    const std::shared_ptr<const core::KeyRing> keys_;
    const core::Partition partitions_;
};

}  // namespace beckon::cli
