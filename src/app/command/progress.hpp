#pragma once

#include "core/clock.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

/// Progress of work that may take more than two seconds, on standard error.
namespace beckon::app {

/// On a terminal one line that is drawn again five times a second, from the first second on; else a
/// line every ten seconds. Work that ends before the first line prints nothing. One thread.
class Progress {
public:
    struct Output {
        std::function<core::MonoTime()> now;
        std::function<void(std::string_view)> write;  ///< as it stands
        bool terminal = false;
    };

    /// `what`: the work ("import"). `unit`: what at() counts ("clients"). `total`: their number;
    /// 0: not known.
    Progress(std::string what, std::string unit, std::uint64_t total);
    Progress(std::string what, std::string unit, std::uint64_t total, Output output);
    /// Removes the line from a terminal.
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `done` units are done. Cheap enough for every step.
    void at(std::uint64_t done);
    /// Removes the line from a terminal until the next at(): something else is printed.
    void clear();

private:
    std::string text(std::uint64_t done, core::Duration passed) const;

    const std::string what_;
    const std::string unit_;
    const std::uint64_t total_;
    const Output output_;
    const core::MonoTime begun_;
    core::MonoTime due_;
    bool drawn_ = false;
};

/// "12,345,678".
std::string grouped(std::uint64_t number);

}  // namespace beckon::app
