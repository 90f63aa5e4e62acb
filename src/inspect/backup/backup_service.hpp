#pragma once

#include "core/key_ring.hpp"
#include "log/embedded/embedded_log.hpp"
#include "ops/ops_server.hpp"

#include <filesystem>

namespace beckon::inspect {

/// Where a running process puts a copy of its log for `beckon backup` to take away.
std::filesystem::path snapshot_of(const std::filesystem::path& data);

/// Makes copies of the embedded log while it is in use, on requests to `/backup` of the ops port:
///   /backup/start  begins one, in place of an earlier one; 409 while one is being made
///   /backup/state  {"state": "none" | "running" | "done" | "failed", "directory", "error"}
/// 401 without the proof of the key ring that `/log` asks for (log_service.hpp).
/// A copy consists of hard links to files that never change, and of the write-ahead file. It takes
/// a moment and no space, but keeps its files on the disk until an operator or the next start
/// removes it.
/// The pages are served for as long as the returned object lives; server, log and keys outlive it.
[[nodiscard]] ops::Mount mount_backup_service(ops::OpsServer& ops, log::EmbeddedLog& log,
                                              const std::filesystem::path& data,
                                              const core::KeyRing& keys);

}  // namespace beckon::inspect
