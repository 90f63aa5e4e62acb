#pragma once

#include <cstdint>
#include <filesystem>

/// Takes the place of fsync and fdatasync in this test binary, so that a test can stand between a
/// write and its sync, let a sync fail, and know what a power loss would leave.
namespace beckon::test::sync_gate {

/// From now on syncs wait.
void close();
/// Lets them go on.
void open();
/// Returns when a sync waits at the closed gate; false after 20 s.
bool wait_until_somebody_waits();

/// The next `count` syncs fail with EIO.
void fail_next(int count);

/// How many syncs there were.
std::uint64_t count();

/// Copies a directory as it would be after a power loss at this moment: only the synced part of
/// each file. Nobody can sync meanwhile.
void copy_what_is_synced(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace beckon::test::sync_gate
