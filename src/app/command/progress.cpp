#include "app/command/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <string>
#include <utility>

#include <unistd.h>

namespace beckon::app {

namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr core::Duration kFirstDraw = seconds{1};
constexpr core::Duration kDrawEvery = milliseconds{200};
constexpr core::Duration kLineEvery = seconds{10};
constexpr std::size_t kBar = 30;
constexpr std::string_view kClearLine = "\r\033[K";

Progress::Output standard_error() {
    return {.now = [] { return core::SystemClock{}.mono(); },
            .write = [](std::string_view text) { std::cerr << text << std::flush; },
            .terminal = ::isatty(STDERR_FILENO) == 1};
}

std::string time_left(double left) {
    const auto whole = static_cast<std::uint64_t>(left) + 1;
    if (whole < 120) return std::to_string(whole) + " s left";
    return std::to_string((whole + 59) / 60) + " min left";
}

}  // namespace

std::string grouped(std::uint64_t number) {
    const auto digits = std::to_string(number);
    std::string text;
    for (std::size_t at = 0; at < digits.size(); ++at) {
        if (at > 0 && (digits.size() - at) % 3 == 0) text.push_back(',');
        text.push_back(digits[at]);
    }
    return text;
}

Progress::Progress(std::string what, std::string unit, std::uint64_t total)
    : Progress(std::move(what), std::move(unit), total, standard_error()) {}

Progress::Progress(std::string what, std::string unit, std::uint64_t total, Output output)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      output_(std::move(output)),
      begun_(output_.now()),
      due_(begun_ + (output_.terminal ? kFirstDraw : kLineEvery)) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
    if (std::exchange(drawn_, false)) output_.write(kClearLine);
}

void Progress::at(std::uint64_t done) {
    const auto now = output_.now();
    if (now < due_) return;
    due_ = now + (output_.terminal ? kDrawEvery : kLineEvery);
    const auto line = text(done, now - begun_);
    if (!output_.terminal) return output_.write(line + "\n");
    output_.write(std::string{kClearLine} + line);
    drawn_ = true;
}

std::string Progress::text(std::uint64_t done, core::Duration passed) const {
    auto line = what_ + ": ";
    if (total_ == 0) return line + grouped(done) + " " + unit_;
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    if (output_.terminal) {
        const auto full = static_cast<std::size_t>(part * static_cast<double>(kBar));
        line += "[" + std::string(full, '#') + std::string(kBar - full, '.') + "] ";
    }
    line += std::to_string(static_cast<int>(part * 100)) + " %, " + grouped(done) + " of " +
            grouped(total_) + " " + unit_;
    if (part > 0 && part < 1) {
        line += ", " + time_left(duration<double>{passed}.count() * (1 - part) / part);
    }
    return line;
}

}  // namespace beckon::app
