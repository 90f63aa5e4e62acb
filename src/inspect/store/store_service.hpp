#pragma once

#include "core/key_ring.hpp"
#include "ops/ops_server.hpp"

#include <cstddef>
#include <filesystem>

namespace beckon::inspect {

/// Where a running process puts copies of its edge's store for `beckon replay verify`, each in a
/// directory of its own.
std::filesystem::path store_copies_of(const std::filesystem::path& data);

inline constexpr std::size_t kStoreCopiesMax = 4;

/// Makes copies of the edge's store while it is in use; asked at the ops port:
///   /store/copy  200 {"directory"}; 409 while kStoreCopiesMax of them are there; 401 without
///                `Authorization: Bearer <log_proof()>`
/// A copy is hard links to files that never change, and the write-ahead file. It keeps its files on
/// the disk until the tool that asked for it, or the next start, removes it.
/// The page is served for as long as the returned object lives; `ops` and `keys` outlive it.
[[nodiscard]] ops::Mount mount_store_service(ops::OpsServer& ops, const std::filesystem::path& data,
                                             const core::KeyRing& keys);

}  // namespace beckon::inspect
