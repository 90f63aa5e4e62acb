#pragma once

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace beckon::test {

/// Prints a figure beside its aim and remembers it for the file.
class Report {
public:
    void add(const std::string& name, double value, const char* unit, const char* aim = "") {
        std::printf("  %-52s %12.3f %-6s %s\n", name.c_str(), value, unit, aim);
        std::fflush(stdout);
        json_ += (json_.empty() ? "" : ",\n  ") + ("\"" + name + "\": ") + std::to_string(value);
    }
    void write(const char* file) const { std::ofstream{file} << "{\n  " << json_ << "\n}\n"; }

private:
    std::string json_;
};

inline double percentile(std::vector<double>& values, double part) {
    if (values.empty()) return 0;
    const auto at = static_cast<std::size_t>(part * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at),
                     values.end());
    return values[at];
}

}  // namespace beckon::test
