#include "core/logger.hpp"

#include "core/enum_names.hpp"
#include "core/json_text.hpp"
#include "core/time_text.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace beckon::core {

namespace {

std::atomic<LogLevel> g_least{LogLevel::info};
std::atomic<LogFormat> g_format{LogFormat::text};

using Fields = std::span<const LogField>;

nlohmann::json to_json(const LogField& field) {
    return std::visit([](const auto& v) { return nlohmann::json(v); }, field.value);
}

std::string json_line(LogLevel level, std::string_view folder, std::string_view event,
                      Fields fields) {
    nlohmann::ordered_json line;
    line["time"] = time_text(SystemClock{}.wall());
    line["level"] = name_of(level);
    line["folder"] = folder;
    line["event"] = event;
    for (const auto& field : fields) line[std::string{field.key}] = to_json(field);
    return core::json_text(line);
}

std::string text_line(LogLevel level, std::string_view folder, std::string_view event,
                      Fields fields) {
    std::string out = time_text(SystemClock{}.wall());
    out.append(" ").append(name_of(level)).append(level == LogLevel::info ? "  " : " ");
    if (level == LogLevel::warn) out.append(" ");
    out.append(folder).append(" ").append(event);
    for (const auto& field : fields) {
        out.append(" ").append(field.key).append("=");
        const auto value = to_json(field);
        const bool plain = value.is_string() && value.get_ref<const std::string&>().find_first_of(
                                                    " \"\n\t=") == std::string::npos;
        out.append(plain ? value.get<std::string>() : core::json_text(value));
    }
    return out;
}

void write_line(LogLevel level, std::string_view folder, std::string_view event, Fields fields) {
    std::string line = g_format.load() == LogFormat::json ? json_line(level, folder, event, fields)
                                                          : text_line(level, folder, event, fields);
    line.push_back('\n');
    // If standard error cannot be written to, there is no other place to report to.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

/// The lines of each event in the present minute.
class SparseLines {
public:
    static SparseLines& of_process() {
        static SparseLines lines;
        return lines;
    }
    /// nullopt: the line is left out. Else how many were before it.
    std::optional<std::uint64_t> take(std::string_view event, MonoTime now) {
        constexpr std::chrono::minutes kSpan{1};
        const std::scoped_lock lock{mutex_};
        auto& lines = by_event_[event];
        if (lines.written == 0 || now - lines.since >= kSpan) {
            lines.since = now;
            lines.written = 0;
        }
        if (lines.written == kSparseLines) {
            ++lines.left_out;
            return std::nullopt;
        }
        ++lines.written;
        return std::exchange(lines.left_out, 0);
    }

private:
    struct Lines {
        MonoTime since{};
        int written = 0;
        std::uint64_t left_out = 0;
    };
    std::mutex mutex_;
    std::map<std::string_view, Lines> by_event_;  ///< of literals
};

}  // namespace

void configure_logging(LogLevel least, LogFormat format) {
    g_least = least;
    g_format = format;
}

bool log_enabled(LogLevel level) { return level >= g_least.load(std::memory_order_relaxed); }

void log_line(LogLevel level, std::string_view folder, std::string_view event,
              std::initializer_list<LogField> fields) {
    if (log_enabled(level)) write_line(level, folder, event, Fields{fields.begin(), fields.size()});
}

void log_sparsely(LogLevel level, std::string_view folder, std::string_view event,
                  std::initializer_list<LogField> fields) {
    if (!log_enabled(level)) return;
    const auto left_out = SparseLines::of_process().take(event, SystemClock{}.mono());
    if (!left_out) return;
    std::vector<LogField> all{fields};
    if (*left_out > 0) all.emplace_back("left_out", *left_out);
    write_line(level, folder, event, all);
}

}  // namespace beckon::core
