#pragma once

#include "core/key_ring.hpp"
#include "ops/ops_server.hpp"

#include <filesystem>
#include <memory>

namespace beckon::inspect {

/// Where a running process puts copies of its edge's store for `beckon replay verify`, each in a
/// directory of its own.
std::filesystem::path store_copies_of(const std::filesystem::path& data);

/// Makes copies of the edge's store while it is in use; asked at the ops port:
///   /store/copy  200 {"directory"}; 409 while kCopiesMax of them are there; 401 without
///                `Authorization: Bearer <log_proof()>`
/// A copy is hard links to files that never change, and the write-ahead file. It keeps its files on
/// the disk until the tool that asked for it, or the next start, removes it.
class StoreService {
public:
    static constexpr std::size_t kCopiesMax = 4;

    /// `ops` outlives it.
    StoreService(ops::OpsServer& ops, const std::filesystem::path& data, const core::KeyRing& keys);
    ~StoreService();
    StoreService(const StoreService&) = delete;
    StoreService& operator=(const StoreService&) = delete;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::inspect
