#pragma once

/// What most sources of `src` and `tests` include, read by the compiler once for all (cmake/Options.cmake). It declares
/// nothing: each source still includes what it uses, which `./dev lint` checks by compiling each one without this.

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

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>
