#include "core/contain.hpp"

#include "core/clock.hpp"
#include "core/logger.hpp"

#include <cstdlib>
#include <mutex>
#include <optional>

namespace beckon::core {

namespace {

constexpr Duration kThrownLineEvery = std::chrono::seconds{1};

/// The exceptions of one place.
struct Thrown {
    std::uint64_t count = 0;
    std::uint64_t logged = 0;  ///< of them, when the last line was written
    std::optional<MonoTime> line_at;
};

struct ThrownTable {
    std::mutex mutex;
    std::map<std::string, Thrown, std::less<>> by_place;  ///< under mutex

    static ThrownTable& of_process() {
        static ThrownTable table;
        return table;
    }
};

}  // namespace

void report_thrown(std::string_view place, std::string_view what) noexcept {
    try {
        auto& table = ThrownTable::of_process();
        const auto now = SystemClock{}.mono();
        std::uint64_t since_last = 0;
        {
            const std::scoped_lock lock{table.mutex};
            auto found = table.by_place.find(place);
            if (found == table.by_place.end()) {
                found = table.by_place.emplace(std::string{place}, Thrown{}).first;
            }
            auto& thrown = found->second;
            ++thrown.count;
            if (thrown.line_at && now - *thrown.line_at < kThrownLineEvery) return;
            thrown.line_at = now;
            since_last = thrown.count - std::exchange(thrown.logged, thrown.count);
        }
        log_error("core", "request_failed",
                  {{"place", place}, {"why", what}, {"since_last_line", since_last}});
    } catch (...) {  // no memory for the line: serving goes on without it
    }
}

std::map<std::string, std::uint64_t> thrown_by_place() {
    auto& table = ThrownTable::of_process();
    const std::scoped_lock lock{table.mutex};
    std::map<std::string, std::uint64_t> counts;
    for (const auto& [place, thrown] : table.by_place) counts[place] = thrown.count;
    return counts;
}

void fold_threw(std::string_view fold, std::string_view what) noexcept {
    try {
        log_error("core", "fold_failed",
                  {{"fold", fold}, {"why", what}, {"effect", "this process ends"}});
    } catch (...) {
    }
    std::abort();
}

}  // namespace beckon::core
