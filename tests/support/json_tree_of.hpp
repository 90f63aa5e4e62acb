#pragma once

#include "retry/event/filter/json_tree.hpp"

#include <nlohmann/json.hpp>

namespace beckon::test {

/// An event as filters read it.
inline retry::JsonTree tree_of(const nlohmann::json& event) {
    return retry::JsonTree{event.dump()};
}

}  // namespace beckon::test
