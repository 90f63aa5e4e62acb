#include "app/client_options.hpp"
#include "app/command/output.hpp"
#include "app/command/progress.hpp"
#include "app/command_line.hpp"
#include "app/config/config.hpp"
#include "app/installation/copy_checksums.hpp"
#include "app/installation/key_ring_guard.hpp"
#include "app/process/process.hpp"
#include "core/json_text.hpp"
#include "inspect/backup/backup_service.hpp"
#include "inspect/log/log_service.hpp"
#include "log/embedded/embedded_log.hpp"
#include "net/descriptor.hpp"
#include "tools/commands.hpp"
#include "tools/running/ops_client.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace beckon::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kCopyTimeout{10};
constexpr std::chrono::milliseconds kAskCopyAgain{50};
constexpr const char* kKeyRing = "keys.json";

[[noreturn]] void fail_at(const fs::path& path, const char* what, int why) {
    throw app::StartupError(std::string{what} + " " + path.string() + ": " + std::strerror(why));
}

/// Gives the copy to the original's owner; only root can give files to another user.
void take_owner(const fs::path& copy, const fs::path& original) {
    struct stat status {};
    if (::geteuid() != 0 || ::stat(original.c_str(), &status) != 0) return;
    if (::lchown(copy.c_str(), status.st_uid, status.st_gid) != 0) {
        fail_at(copy, "cannot give the copy to the owner of the original:", errno);
    }
}

void sync_to_disk(const fs::path& path) {
    const net::Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.get() < 0 || ::fsync(file.get()) != 0) fail_at(path, "cannot sync", errno);
}

void make_directory(const fs::path& directory, const fs::path& original) {
    if (::mkdir(directory.c_str(), 0700) != 0) fail_at(directory, "cannot make", errno);
    take_owner(directory, original);
}

void copy_one(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::copy_file(from, to, error);
    if (error) {
        throw app::StartupError("cannot copy " + from.string() + " to " + to.string() + ": " +
                                error.message());
    }
    take_owner(to, from);
    sync_to_disk(to);
}

/// The files of a log that does not change meanwhile. Returns the checksums of the originals.
std::vector<app::Checksum> copy_log(const fs::path& from, const fs::path& to) {
    make_directory(to, from);
    std::vector<app::Checksum> sums;
    std::vector<fs::directory_entry> files;
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(from)) {
        if (!entry.is_regular_file() || entry.path().filename() == "LOCK") continue;
        files.push_back(entry);
        bytes += entry.file_size();
    }
    app::Progress progress{"copying the log", "bytes", bytes};
    std::uint64_t done = 0;
    for (const auto& file : files) {
        progress.at(done);
        const auto name = file.path().filename();
        copy_one(file.path(), to / name);
        sums.push_back({app::sha256_of(file.path()), to.filename() / name});
        done += file.file_size();
    }
    sync_to_disk(to);
    return sums;
}

/// Of a log that nobody has open; it may go on after the copy.
std::vector<app::Checksum> copy_log_at_rest(const fs::path& from, const fs::path& to) {
    auto sums = copy_log(from, to);
    if (log::is_copy(to)) return sums;
    app::must(log::mark_as_copy(to));
    const auto name = to.filename() / log::kCopyFile;
    const auto file = to.parent_path() / name;
    take_owner(file, from);
    sync_to_disk(file);
    sums.push_back({app::sha256_of(file), name});
    return sums;
}

/// Lets the process that has the log make a copy beside it.
class Snapshot {
public:
    explicit Snapshot(const app::Config& config)
        : directory_(inspect::snapshot_of(config.data)),
          process_(config.ops, inspect::log_proof(app::load_key_ring(config)->newest())) {
        const auto started = process_.ask("/backup/start");
        if (started.status == net::kUnauthorized) {
            throw app::StartupError("the process at the ops port " +
                                    std::to_string(config.ops.port) + " has not the key ring " +
                                    config.key_ring_file().string() +
                                    ": see --ops-port, --data and --key-ring");
        }
        if (started.status == net::kNotFound || !started.body.is_object()) {
            throw app::StartupError(
                "the process at the ops port " + std::to_string(config.ops.port) +
                " has no embedded log: --ops-port names that of `beckon standalone`");
        }
        if (started.status != net::kAccepted)
            throw app::StartupError("another backup is being made");
        const auto made = started.body.value("directory", "");
        std::error_code error;
        if (!fs::equivalent(fs::path{made}.parent_path(), config.data, error)) {
            throw app::StartupError("the process at the ops port " +
                                    std::to_string(config.ops.port) + " keeps its data in " +
                                    fs::path{made}.parent_path().string() + ", not in " +
                                    config.data.string() + ": see --ops-port and --data");
        }
        await();
    }
    ~Snapshot() {
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
    }
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;
    const fs::path& directory() const { return directory_; }

private:
    void await() {
        const auto begun = std::chrono::steady_clock::now();
        const auto until = begun + kCopyTimeout;
        app::Progress progress{"the process copies its log", "s", 0};
        while (std::chrono::steady_clock::now() < until) {
            const auto now = process_.ask("/backup/state").body;
            const auto state = now.is_object() ? now.value("state", "") : "";
            if (state == "done") return;
            if (state != "running") {
                throw app::StartupError("the log could not be copied: " +
                                        now.value("error", state));
            }
            progress.at(static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                                       std::chrono::steady_clock::now() - begun)
                                                       .count()));
            std::this_thread::sleep_for(kAskCopyAgain);
        }
        throw app::StartupError("the log was not copied within 10 minutes");
    }

    const fs::path directory_;
    OpsConnection process_;
};

/// A directory that gets its name when it is whole.
class Unfinished {
public:
    Unfinished(fs::path target, const fs::path& original)
        : target_(std::move(target)), path_(target_.string() + ".partial") {
        if (fs::exists(target_)) {
            throw app::StartupError(target_.string() +
                                    " exists already: name a directory for this copy");
        }
        if (fs::exists(path_)) {
            throw app::StartupError(path_.string() +
                                    " exists: a backup that did not end has left it, or it is of "
                                    "somebody else; remove it if you do not need it");
        }
        make_directory(path_, original);
    }
    ~Unfinished() {
        std::error_code ignored;
        if (!done_) fs::remove_all(path_, ignored);
    }
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;
    const fs::path& path() const { return path_; }
    void finish() {
        sync_to_disk(path_);
        fs::rename(path_, target_);
        sync_to_disk(fs::absolute(target_).parent_path());
        done_ = true;
    }

private:
    const fs::path target_;
    const fs::path path_;
    bool done_ = false;
};

/// One backup at a time of a directory: the copy that the process makes for it has one place.
class OnlyBackup {
public:
    explicit OnlyBackup(const fs::path& data)
        : directory_(::open(data.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        if (!directory_) fail_at(data, "cannot open", errno);
        if (::flock(directory_.get(), LOCK_EX | LOCK_NB) != 0) {
            throw app::StartupError("another backup of " + data.string() + " is being made");
        }
    }

private:
    const net::Descriptor directory_;
};

/// Within the data directory a copy would go with it, and `backup` there is the process's own.
void refuse_within(const fs::path& target, const fs::path& data) {
    const auto inner = fs::weakly_canonical(target);
    const auto outer = fs::weakly_canonical(data);
    const auto ends = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
    if (ends.first != outer.end()) return;
    throw app::StartupError(target.string() + " is within the data directory " + data.string() +
                            ": name a directory elsewhere, best on another disk");
}

fs::path without_slash(const fs::path& path) {
    return path.has_filename() ? path : path.parent_path();
}

std::vector<app::Checksum> copy_log_of(const app::Config& config, const fs::path& to) {
    if (app::DataDirectory::in_use(config.data)) {
        const Snapshot snapshot{config};
        return copy_log(snapshot.directory(), to);
    }
    const app::DataDirectory held{config.data};
    app::accept_copy(config.data);
    return copy_log_at_rest(config.data / "log", to);
}

/// `beckon backup`: copies the embedded log and the key ring of `config.data` to `target`, which
/// must not exist, while a process uses them or not. The copy is a data directory of the same
/// owner. Throws StartupError; then `target` is not there.
int run_backup(const app::Config& config, const fs::path& target) {
    if (!app::has_embedded_log(config)) {
        throw app::StartupError("there is no log in " + (config.data / "log").string() +
                                ": --data names the directory (a log on Kafka is backed up there)");
    }
    refuse_within(without_slash(target), without_slash(config.data));
    const OnlyBackup only{config.data};
    Unfinished copy{without_slash(target), config.data};
    auto sums = copy_log_of(config, copy.path() / "log");
    // After the log: a ring may have gained keys meanwhile, which a start publishes to the log.
    copy_one(config.key_ring_file(), copy.path() / kKeyRing);
    sums.push_back({app::sha256_of(copy.path() / kKeyRing), kKeyRing});
    app::write_checksums(copy.path(), sums);
    take_owner(copy.path() / app::kChecksums, config.data);
    sync_to_disk(copy.path() / app::kChecksums);
    copy.finish();
    app::print_line("copied the log and the key ring of " + config.data.string() + " to " +
                    target.string() + "; keep it safe: its owner can send to every client");
    return 0;
}

}  // namespace

void add_backup_command(app::CommandLine& line) {
    static std::filesystem::path target;
    line.add(line.top(), "backup",
             "Copy the embedded log and the key ring, also while they are in use",
             app::Reader::running, [](const auto& config) { return run_backup(config, target); })
        .add_option("DIRECTORY", target, "Where the copy goes; must not exist")
        ->check(app::not_empty())
        ->required();
}

}  // namespace beckon::tools
