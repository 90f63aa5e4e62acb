#include "core/logger.hpp"

#include "core/enum_names.hpp"
#include "core/json_text.hpp"
#include "core/time_text.hpp"

#include <atomic>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace beckon::core {

namespace {

std::atomic<LogLevel> g_least{LogLevel::info};
std::atomic<LogFormat> g_format{LogFormat::text};

nlohmann::json to_json(const LogField& field) {
    return std::visit([](const auto& v) { return nlohmann::json(v); }, field.value);
}

std::string json_line(LogLevel level, std::string_view folder, std::string_view event,
                      std::initializer_list<LogField> fields) {
    nlohmann::ordered_json line;
    line["time"] = time_text(SystemClock{}.wall());
    line["level"] = name_of(level);
    line["folder"] = folder;
    line["event"] = event;
    for (const auto& field : fields) line[std::string{field.key}] = to_json(field);
    return core::json_text(line);
}

std::string text_line(LogLevel level, std::string_view folder, std::string_view event,
                      std::initializer_list<LogField> fields) {
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

}  // namespace

void configure_logging(LogLevel least, LogFormat format) {
    g_least = least;
    g_format = format;
}

bool log_enabled(LogLevel level) { return level >= g_least.load(std::memory_order_relaxed); }

void log_line(LogLevel level, std::string_view folder, std::string_view event,
              std::initializer_list<LogField> fields) {
    if (!log_enabled(level)) return;
    std::string line = g_format.load() == LogFormat::json ? json_line(level, folder, event, fields)
                                                          : text_line(level, folder, event, fields);
    line.push_back('\n');
    // If standard error cannot be written to, there is no other place to report to.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace beckon::core
