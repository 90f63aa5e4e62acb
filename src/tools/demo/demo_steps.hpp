#pragma once

#include "core/result.hpp"

#include <chrono>
#include <string>

#include <nlohmann/json.hpp>

namespace beckon::tools {

/// The steps of a demo, on the terminal as they happen, or as one JSON object at the end.
class DemoSteps {
public:
    explicit DemoSteps(bool json) : json_(json) {}

    void title(const std::string& text) const;
    void add(const std::string& name, std::chrono::steady_clock::duration took,
             const std::string& detail = "");
    /// Prints the outcome and returns the exit code. `what` and `where`: name and value of the
    /// member of the JSON object that names the server. `good`: the last line if all steps
    /// succeeded.
    int finish(const core::Result<void>& done, const char* what, const std::string& where,
               const char* good) const;

private:
    const bool json_;
    nlohmann::json steps_ = nlohmann::json::array();
};

}  // namespace beckon::tools
