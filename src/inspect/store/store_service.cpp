#include "inspect/store/store_service.hpp"

#include "core/json_text.hpp"
#include "core/logger.hpp"
#include "inspect/log/log_service.hpp"
#include "inspect/pages/page_thread.hpp"
#include "store/database.hpp"

#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::inspect {

namespace fs = std::filesystem;
using ops::Page;

fs::path store_copies_of(const fs::path& data) { return fs::absolute(data) / "edge-copies"; }

namespace {

struct StoreService {
    StoreService(const fs::path& data, const core::KeyRing& keys)
        : edge_store(data / "edge"), copies(store_copies_of(data)), proofs(keys) {
        std::error_code ignored;
        fs::remove_all(copies, ignored);
    }

    void answer(const ops::LateRequest& request, ops::PageDone done) {
        if (request.path != "/copy")
            return done(ops::refusal(net::kNotFound, "there is no such page"));
        if (!proofs.admits(request.authorization)) {
            return done(ops::refusal(net::kUnauthorized,
                                     "copies need a proof of this installation's key ring"));
        }
        thread.answer([this] { return copy(); }, std::move(done));
    }
    Page copy() {
        std::error_code failed;
        fs::create_directories(copies, failed);
        if (failed) {
            return ops::refusal(net::kUnavailable,
                                "cannot make " + copies.string() + ": " + failed.message());
        }
        std::size_t there = 0;
        for (fs::directory_iterator at{copies, failed}; !failed && at != fs::directory_iterator{};
             at.increment(failed)) {
            ++there;
        }
        if (failed) {
            return ops::refusal(net::kUnavailable,
                                "cannot read " + copies.string() + ": " + failed.message());
        }
        if (there >= kStoreCopiesMax) {
            return ops::refusal(net::kConflict, copies.string() + " has " + std::to_string(there) +
                                                    " copies: remove the unused ones");
        }
        return copy_to(copies / std::to_string(next++));
    }

    Page copy_to(const fs::path& directory) const {
        if (const auto copied = store::copy_open_store(edge_store, directory); !copied) {
            core::log_error("inspect", "store_not_copied", {{"error", copied.error().message}});
            return ops::refusal(net::kUnavailable, copied.error().message);
        }
        core::log_info("inspect", "store_copied", {{"directory", directory.string()}});
        return {.body = core::json_text(nlohmann::json{{"directory", directory.string()}})};
    }

    const fs::path edge_store;
    const fs::path copies;
    const LogProofs proofs;
    std::uint64_t next = 0;             ///< of the thread
    PageThread thread{"store-copies"};  ///< last: it uses the others
};

}  // namespace

ops::Mount mount_store_service(ops::OpsServer& ops, const fs::path& data,
                               const core::KeyRing& keys) {
    return ops.mount_late("/store", [service = std::make_shared<StoreService>(data, keys)](
                                        const auto& request, auto done) {
        service->answer(request, std::move(done));
    });
}

}  // namespace beckon::inspect
