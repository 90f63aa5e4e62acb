#pragma once

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

namespace beckon::test {

/// The bound of a figure: at most, or at least.
struct Aim {
    double value = 0;
    bool at_least = false;
    std::string verdict(double is) const {
        const bool met = at_least ? is >= value : is <= value;
        char text[64];
        std::snprintf(text, sizeof text, "aim: at %s %g: %s", at_least ? "least" : "most", value,
                      met ? "met" : "NOT MET");
        return text;
    }
};
inline Aim at_most(double value) { return {value, false}; }
inline Aim at_least(double value) { return {value, true}; }

/// Prints a figure, with its aim and whether that is met, and remembers it for the file.
class Report {
public:
    void add(const std::string& name, double value, const char* unit,
             const std::optional<Aim>& aim = std::nullopt) {
        std::printf("  %-56s %12.3f %-6s %s\n", name.c_str(), value, unit,
                    aim ? aim->verdict(value).c_str() : "");
        std::fflush(stdout);
        json_ += (json_.empty() ? "" : ",\n  ") + ("\"" + name + "\": ") + std::to_string(value);
    }
    void write(const char* file) const { std::ofstream{file} << "{\n  " << json_ << "\n}\n"; }

private:
    std::string json_;
};

/// The memory of this process.
inline double resident_kib() {
    std::ifstream statm{"/proc/self/statm"};
    double pages = 0;
    double resident = 0;
    statm >> pages >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1'024;
}

inline double percentile(std::vector<double>& values, double part) {
    if (values.empty()) return 0;
    const auto at = static_cast<std::size_t>(part * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at),
                     values.end());
    return values[at];
}

}  // namespace beckon::test
