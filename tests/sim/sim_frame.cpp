#include "sim/sim_frame.hpp"

#include <iomanip>
#include <sstream>
#include <string_view>

namespace beckon::sim {

using namespace std::chrono_literals;

SimFrame::SimFrame(std::uint64_t seed, Clocks clocks, bool prints)
    : prints_(prints), hostile_(clocks == Clocks::hostile), random_(seed), time_(clock_, seed) {}

void SimFrame::fail(const std::string& what) {
    broken.push_back(what);
    report("BROKEN: " + what);
}

void SimFrame::report(const std::string& what) {
    if (!prints_) return;
    std::ostringstream line;
    const std::chrono::duration<double> at = clock_.mono().time_since_epoch() - 1000s;
    line << std::fixed << std::setprecision(3) << std::setw(10) << at.count() << " s  " << what;
    diary.push_back(line.str());
}

std::shared_ptr<const core::KeyRing> SimFrame::keys() {
    static const auto ring = std::make_shared<const core::KeyRing>(
        std::vector<core::KeyRing::Key>{{0, core::Secret32{1, 2, 3}, "2026-01-01T00:00:00Z"}},
        std::vector<std::string>{}, std::vector<std::string>{"auth"});
    return ring;
}

std::uint64_t SimFrame::fingerprint_of(const log::MemoryLog& log,
                                       const std::vector<log::Topic>& topics,
                                       core::Partition partitions) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    const auto mix = [&hash](std::string_view bytes) {
        for (const char c : bytes) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ULL;
    };
    for (const auto topic : topics) {
        for (core::Partition p = 0; p < partitions; ++p) {
            for (const auto& stored : log.records({topic, p})) {
                mix(std::to_string(stored.offset));
                mix(std::to_string(stored.time.time_since_epoch().count()));
                mix(stored.record.key);
                mix(stored.record.value.value_or("-"));
            }
        }
    }
    return hash;
}

void SimFrame::compact(log::MemoryLog& log, const std::vector<log::Topic>& topics,
                       core::Partition partitions) {
    for (core::Partition p = 0; p < partitions; ++p) {
        for (const auto topic : topics) {
            const auto& records = log.records({topic, p});
            if (records.empty()) continue;
            const auto before = records.back().offset - static_cast<core::Offset>(below(20));
            log.compact({topic, p}, before, false);
        }
    }
    log.compact({log::Topic::kOwnership, 0}, 1'000'000, false);
}

}  // namespace beckon::sim
