#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <utility>

/// An exception ends the request that caused it, not the process that serves all others. Every loop
/// runs what it is asked to do within contain(); a fold runs within fold_step(), since a state of
/// which a part is missing must serve nobody. Thread-safe.
namespace beckon::core {

/// Counts an exception under `place`, which names the loop or the port ("retry", "endpoint-0": a
/// bounded set), and logs it: one line a second for each place at most, which says how many there
/// were since the last one.
void report_thrown(std::string_view place, std::string_view what) noexcept;

/// How many were reported since the process started, by place; for metrics.
std::map<std::string, std::uint64_t> thrown_by_place();

/// Logs and ends the process.
[[noreturn]] void fold_threw(std::string_view fold, std::string_view what) noexcept;

/// Runs `work`. False: it threw, which was reported. What it had begun is the caller's to end: the
/// request is answered with 500, the connection is closed, the delivery is set aside.
template <class Work>
bool contain(std::string_view place, Work&& work) noexcept {
    try {
        std::forward<Work>(work)();
        return true;
    } catch (const std::exception& thrown) {
        report_thrown(place, thrown.what());
    } catch (...) {
        report_thrown(place, "no std::exception");
    }
    return false;
}

/// Runs one step of a fold. An exception here ends the process, with a log line that names the
/// fold: after a restart it folds the same records from its last checkpoint. `name` makes that
/// name, and only then.
template <class Name, class Step>
void fold_step(const Name& name, Step&& step) noexcept {
    try {
        std::forward<Step>(step)();
    } catch (const std::exception& thrown) {
        fold_threw(name(), thrown.what());
    } catch (...) {
        fold_threw(name(), "no std::exception");
    }
}

}  // namespace beckon::core
