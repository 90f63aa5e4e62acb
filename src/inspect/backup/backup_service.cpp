#include "inspect/backup/backup_service.hpp"

#include "core/contain.hpp"
#include "core/json_text.hpp"
#include "core/logger.hpp"
#include "inspect/log/log_service.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>
#include <pthread.h>

namespace beckon::inspect {

std::filesystem::path snapshot_of(const std::filesystem::path& data) {
    return std::filesystem::absolute(data) / "backup";
}

namespace {

struct BackupService {
    BackupService(log::EmbeddedLog& l, const std::filesystem::path& data, const core::KeyRing& keys)
        : log(l), directory(snapshot_of(data)), proofs(keys) {
        std::error_code ignored;
        std::filesystem::remove_all(directory, ignored);
    }

    ops::Page answer(const ops::LateRequest& request) {
        if (!proofs.admits(request.authorization)) {
            return ops::refusal(net::kUnauthorized,
                                "copies need a proof of this installation's key ring");
        }
        if (request.path == "/start") return start();
        if (request.path == "/state") return {.body = state_text()};
        return ops::refusal(net::kNotFound, "there are /backup/start and /backup/state");
    }

    ops::Page start() {
        {
            const std::scoped_lock lock{mutex};
            if (state == "running")
                return ops::refusal(net::kConflict, "another backup is being made");
            state = "running";
            error.clear();
        }
        // The earlier one has ended.
        if (!core::contain("backup", [this] { worker = std::jthread{[this] { make(); }}; })) {
            ended("no thread could be started");
            return ops::refusal(net::kUnavailable, "no thread could be started");
        }
        return {.status = net::kAccepted, .body = state_text()};
    }

    void make() {
        pthread_setname_np(pthread_self(), "backup");
        std::string fault = "something unforeseen happened";
        core::contain("backup", [&] {
            std::error_code ignored;
            std::filesystem::remove_all(directory, ignored);
            const auto copied = log.copy_to(directory);
            fault = copied ? "" : copied.error().message;
        });
        if (fault.empty()) {
            core::log_info("inspect", "log_copied", {{"directory", directory.string()}});
        } else {
            core::log_error("inspect", "log_not_copied",
                            {{"directory", directory.string()}, {"error", fault}});
        }
        ended(std::move(fault));
    }

    /// `fault` is empty if the backup was made.
    void ended(std::string fault) {
        const std::scoped_lock lock{mutex};
        state = fault.empty() ? "done" : "failed";
        error = std::move(fault);
    }

    std::string state_text() const {
        const std::scoped_lock lock{mutex};
        return core::json_text(
            nlohmann::json{{"state", state}, {"directory", directory.string()}, {"error", error}});
    }

    log::EmbeddedLog& log;
    const std::filesystem::path directory;
    const LogProofs proofs;
    mutable std::mutex mutex;
    std::string state = "none";  ///< under mutex, as is the next
    std::string error;
    std::jthread worker;  ///< of the ops port's thread
};

}  // namespace

ops::Mount mount_backup_service(ops::OpsServer& ops, log::EmbeddedLog& log,
                                const std::filesystem::path& data, const core::KeyRing& keys) {
    return ops.mount_late(
        "/backup", [service = std::make_shared<BackupService>(log, data, keys)](
                       const auto& request, const auto& done) { done(service->answer(request)); });
}

}  // namespace beckon::inspect
