#pragma once

#include "app/config/config.hpp"
#include "app/config/reader.hpp"
#include "core/clock.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The checks of `beckon doctor` that query the log, running processes, and the public URL. Each
/// changes nothing.
namespace beckon::tools {

enum class Verdict : std::uint8_t {
    good,
    unknown,   ///< could not be checked
    doubtful,  ///< works, and is not as it should be
    bad,       ///< does not work, or a promise is not kept
};
/// A finding of `beckon doctor` at one place.
struct Finding {
    Verdict verdict = Verdict::good;
    std::string what = {};    ///< "clock", "key ring"
    std::string detail = {};  ///< the observation
    std::string remedy = {};  ///< the remedy; empty if there is nothing to do
    bool operator==(const Finding&) const = default;
};
using Findings = std::vector<Finding>;
void append(Findings& findings, const Findings& more);

/// Whether the log answers and belongs to this installation: the key ring's fingerprint must be the
/// one in `control`. On Kafka also whether the log topics have the settings that Beckon needs, and,
/// if a role is named, whether the user has its rights.
Findings check_log(const app::Config& config, std::optional<app::Reader> role);
/// The state that the process at the ops port reports. `needed`: it is known to run.
Finding check_process(const app::Config& config, bool needed);
/// Whether the public origin of the HTTP API answers, and by its Date header whether clocks agree.
Findings check_public_url(const std::string& origin, core::Timestamp now);

}  // namespace beckon::tools
