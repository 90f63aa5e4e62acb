#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace beckon::core {

enum class LogLevel { debug, info, warn, error };

/// One `key=value` of a log line. Ids, offsets, durations; never payloads, keys or endpoint URLs.
struct LogField {
    std::string_view key;
    std::variant<std::string_view, std::int64_t, double> value;

    LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
    LogField(std::string_view k, const std::string& v) : key(k), value(std::string_view{v}) {}
    LogField(std::string_view k, const char* v) : key(k), value(std::string_view{v}) {}
    LogField(std::string_view k, double v) : key(k), value(v) {}
    template <class Int>
    requires std::is_integral_v<Int> LogField(std::string_view k, Int v)
        : key(k), value(static_cast<std::int64_t>(v)) {}
};

enum class LogFormat { json, text };

/// Once in main, before threads start. Lines go to standard error.
void configure_logging(LogLevel least, LogFormat format);
bool log_enabled(LogLevel level);

/// One line = one event: level, folder, event, fields. Thread-safe; one write(2) per line.
void log_line(LogLevel level, std::string_view folder, std::string_view event,
              std::initializer_list<LogField> fields = {});

/// A line about one of many that may follow each other, such as records that cannot be read: of
/// each event at most kSparseLines a minute. The first line after others were left out has their
/// number, `left_out`. `event` is a literal. Thread-safe.
inline constexpr int kSparseLines = 10;
void log_sparsely(LogLevel level, std::string_view folder, std::string_view event,
                  std::initializer_list<LogField> fields);

inline void log_debug(std::string_view folder, std::string_view event,
                      std::initializer_list<LogField> fields = {}) {
    log_line(LogLevel::debug, folder, event, fields);
}
inline void log_info(std::string_view folder, std::string_view event,
                     std::initializer_list<LogField> fields = {}) {
    log_line(LogLevel::info, folder, event, fields);
}
inline void log_warn(std::string_view folder, std::string_view event,
                     std::initializer_list<LogField> fields = {}) {
    log_line(LogLevel::warn, folder, event, fields);
}
/// A person must act.
inline void log_error(std::string_view folder, std::string_view event,
                      std::initializer_list<LogField> fields = {}) {
    log_line(LogLevel::error, folder, event, fields);
}

}  // namespace beckon::core
