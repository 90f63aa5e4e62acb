#include "cli/backup/backup_service.hpp"

#include "core/logger.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>
#include <pthread.h>

namespace beckon::cli {

namespace {

constexpr int kAccepted = 202;
constexpr int kBusy = 409;
constexpr int kNotFound = 404;

}  // namespace

std::filesystem::path snapshot_of(const std::filesystem::path& data) {
    return std::filesystem::absolute(data) / "backup";
}

struct BackupService::Impl {
    Impl(log::EmbeddedLog& l, const std::filesystem::path& data)
        : log(l), directory(snapshot_of(data)) {
        std::error_code ignored;
        std::filesystem::remove_all(directory, ignored);
    }

    ops::Page answer(std::string_view path) {
        if (path == "/start") return start();
        if (path == "/state") return {.body = state_text()};
        return {.status = kNotFound, .body = "{}"};
    }

    ops::Page start() {
        {
            const std::scoped_lock lock{mutex};
            if (state == "running") return {.status = kBusy, .body = "{}"};
            state = "running";
            error.clear();
        }
        worker = std::jthread{[this] { make(); }};  // the earlier one has ended
        return {.status = kAccepted, .body = state_text()};
    }

    void make() {
        pthread_setname_np(pthread_self(), "backup");
        std::error_code ignored;
        std::filesystem::remove_all(directory, ignored);
        const auto copied = log.copy_to(directory);
        if (copied) {
            core::log_info("cli", "log_copied", {{"directory", directory.string()}});
        } else {
            core::log_error("cli", "log_not_copied",
                            {{"directory", directory.string()}, {"error", copied.error().message}});
        }
        const std::scoped_lock lock{mutex};
        state = copied ? "done" : "failed";
        if (!copied) error = copied.error().message;
    }

    std::string state_text() const {
        const std::scoped_lock lock{mutex};
        return nlohmann::json{{"state", state}, {"directory", directory.string()}, {"error", error}}
            .dump();
    }

    log::EmbeddedLog& log;
    const std::filesystem::path directory;
    mutable std::mutex mutex;
    std::string state = "none";  ///< under mutex, as is the next
    std::string error;
    std::jthread worker;              ///< of the ops port's thread
    std::optional<ops::Mount> mount;  ///< ends first
};

BackupService::BackupService(ops::OpsServer& ops, log::EmbeddedLog& log,
                             const std::filesystem::path& data)
    : impl_(std::make_unique<Impl>(log, data)) {
    impl_->mount.emplace(
        ops.mount("/backup", [impl = impl_.get()](std::string_view path, const ops::Query&) {
            return impl->answer(path);
        }));
}

BackupService::~BackupService() = default;

}  // namespace beckon::cli
