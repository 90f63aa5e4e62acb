#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <utility>

/// An exception ends the request that caused it, not the process that serves all others. Every loop
/// runs its requests within contain(); a fold runs within fold_step(), since a state that lacks a
/// part must not serve. Thread-safe.
namespace beckon::core {

/// Counts and logs an exception. `place` names the loop or the port ("retry", "endpoint-0": a
/// bounded set). Each place logs at most one line a second, with the number of exceptions since the
/// line before.
void report_thrown(std::string_view place, std::string_view what) noexcept;

/// The number of exceptions reported since the process started, by place; for metrics.
std::map<std::string, std::uint64_t> thrown_by_place();

/// Logs and ends the process.
[[noreturn]] void fold_threw(std::string_view fold, std::string_view what) noexcept;

/// Runs `work`. False: it threw, and the exception was reported. The caller then ends what `work`
/// had begun: it answers the request with 500, closes the connection or sets the delivery aside.
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
/// fold: after a restart it folds the same records from its last checkpoint. `name` is called only
/// then, to make that name.
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
