#include "tools/demo/demo_steps.hpp"

#include "app/command/output.hpp"
#include "app/exit_codes.hpp"
#include "core/json_text.hpp"

#include <array>
#include <cstdio>

namespace beckon::tools {

void DemoSteps::title(const std::string& text) const {
    if (!json_) app::print_line("\n" + text);
}

void DemoSteps::add(const std::string& name, std::chrono::steady_clock::duration took,
                    const std::string& detail) {
    const auto ms = std::chrono::duration<double, std::milli>{took}.count();
    steps_.push_back({{"step", name}, {"ms", ms}});
    if (json_) return;
    std::array<char, 256> line{};
    std::snprintf(line.data(), line.size(), "  %-22s %9.2f ms  ", name.c_str(), ms);
    app::print_line(line.data() + detail);
}

int DemoSteps::finish(const core::Result<void>& done, const char* what, const std::string& where,
                      const char* good) const {
    if (json_) {
        nlohmann::json report{{"ok", done.has_value()}, {what, where}, {"steps", steps_}};
        if (!done) report["problem"] = app::with_remedy(done.error());
        app::print_line(core::json_text(report));
    } else if (done) {
        app::print_line(std::string{"\n"} + good);
    } else {
        app::print_error("\nThe demo failed: " + app::with_remedy(done.error()));
    }
    return done ? app::kDone : app::kFailed;
}

}  // namespace beckon::tools
