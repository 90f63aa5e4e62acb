#include "app/process/disk_space.hpp"

#include "core/logger.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <system_error>

namespace beckon::app {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCapacityPollEvery{500};
constexpr std::chrono::minutes kCapacityLineInterval{1};

std::string mebibytes(std::uintmax_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

/// Why the disk has too little space for a start.
std::optional<std::string> too_full(const std::filesystem::path& data) {
    std::error_code error;
    const auto space = std::filesystem::space(data, error);
    if (error || space.available >= kSpaceToStart) return std::nullopt;
    return "the disk of " + data.string() + " has " + mebibytes(space.available) +
           " free, and a start needs " + mebibytes(kSpaceToStart) +
           ": make space, and the start goes on";
}

}  // namespace

void await_disk_space(const std::filesystem::path& data, ops::Health& health,
                      const Signals& signals) {
    steady_clock::time_point next_line{};
    bool waited = false;
    while (const auto why = too_full(data)) {
        waited = true;
        health.set_ready("process", false, *why);
        if (const auto now = steady_clock::now(); now >= next_line) {
            next_line = now + kCapacityLineInterval;
            core::log_error("app", "no_space", {{"why", *why}});
        }
        signals.stop_start_within(kCapacityPollEvery, "space on the disk");
    }
    if (!waited) return;
    health.set_ready("process", false, "starting");
    core::log_info("app", "space_again", {{"data", data.string()}});
}

}  // namespace beckon::app
