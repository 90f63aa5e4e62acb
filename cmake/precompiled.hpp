#pragma once

/// The headers that most sources of `src` and `tests` include; the compiler reads them once for all (cmake/Options.cmake).
/// A source still includes all headers that it uses: `./dev lint` compiles each one without this file.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

// The bodies of the library's two literals need its whole parser, which gcc would instantiate in each unit again, used or
// not: 0.4 s of each. A template that nobody uses takes the bodies; a source that used the literals would not link.
#define _json(text, size) _json(text, size); template <typename Unused> nlohmann::json unused_json(text, size)
#define _json_pointer(text, size) \
    _json_pointer(text, size); template <typename Unused> nlohmann::json::json_pointer unused_json_pointer(text, size)
#include <nlohmann/json.hpp>
#undef _json
#undef _json_pointer
#include <tl/expected.hpp>
