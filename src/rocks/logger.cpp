#include "rocks/logger.hpp"

#include "core/logger.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>

namespace beckon::rocks {

namespace {

class Logger final : public rocksdb::Logger {
public:
    // Its warnings tell of every wait of a writer and of failures that write() returns as well.
    Logger() : rocksdb::Logger(rocksdb::InfoLogLevel::ERROR_LEVEL) {}
    ~Logger() override { closed_ = true; }

    using rocksdb::Logger::Logv;

    void Logv(const char* format, va_list arguments) override {
        Logv(rocksdb::InfoLogLevel::ERROR_LEVEL, format, arguments);
    }
    void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
        if (level < GetInfoLogLevel() || level == rocksdb::InfoLogLevel::HEADER_LEVEL) return;
        std::array<char, 1024> text{};
        std::vsnprintf(text.data(), text.size(), format, arguments);
        core::log_error("log", "rocksdb", {{"message", text.data()}});
    }
};

}  // namespace

std::shared_ptr<rocksdb::Logger> make_logger() { return std::make_shared<Logger>(); }

}  // namespace beckon::rocks
