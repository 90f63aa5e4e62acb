#include "log/kafka/linger_time.hpp"

#include "log/traffic.hpp"

#include <array>

namespace beckon::log::kafka {

using std::chrono::milliseconds;

namespace {

constexpr std::array kSteps = {
    WaitStep{10'000, milliseconds{20}},
    WaitStep{6'000, milliseconds{10}},
    WaitStep{4'000, milliseconds{5}},
    WaitStep{2'000, milliseconds{2}},
};

}  // namespace

milliseconds linger_time(std::size_t per_second) { return wait_at(per_second, kSteps); }

}  // namespace beckon::log::kafka
