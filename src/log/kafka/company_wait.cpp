#include "log/kafka/company_wait.hpp"

#include <algorithm>
#include <array>

namespace beckon::log::kafka {

using std::chrono::milliseconds;

namespace {

struct Step {
    std::size_t from;  ///< records a second
    milliseconds wait;
};
constexpr std::array kSteps = {
    Step{10'000, milliseconds{20}},
    Step{6'000, milliseconds{10}},
    Step{4'000, milliseconds{5}},
    Step{2'000, milliseconds{2}},
};

}  // namespace

milliseconds company_wait(std::size_t per_second) {
    const auto* const step = std::find_if(kSteps.begin(), kSteps.end(),
                                          [&](const Step& one) { return per_second >= one.from; });
    return step == kSteps.end() ? milliseconds{0} : step->wait;
}

}  // namespace beckon::log::kafka
