#include "log/embedded/damage.hpp"

#include "core/descriptors.hpp"
#include "core/logger.hpp"

#include <fstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace beckon::log::embedded {

namespace fs = std::filesystem;

namespace {

constexpr const char* kNotes = "DAMAGED";
constexpr const char* kSecondName = ".damaged";
constexpr std::size_t kNotesMost = 20;

std::vector<fs::path> files_with(const fs::path& directory, std::string_view extension) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(directory)) {
        if (entry.path().extension() == extension) files.push_back(entry.path());
    }
    return files;
}

void sync_to_disk(const fs::path& path) {
    const core::Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file) ::fsync(file.get());
}

}  // namespace

/// A start that was killed leaves second names: its own damage is found again, by the mark.
KeptFiles::KeptFiles(fs::path directory) : directory_(std::move(directory)) {
    for (const auto& file : files_with(directory_, ".log")) {
        auto name = fs::path{file.string() + kSecondName};
        std::error_code error;
        fs::create_hard_link(file, name, error);
        if (!error) files_.push_back(std::move(name));
    }
    if (!fs::exists(directory_ / kNotes)) files_ = files_with(directory_, kSecondName);
}

KeptFiles::~KeptFiles() {
    std::error_code ignored;
    for (const auto& file : files_) fs::remove(file, ignored);
}

void KeptFiles::note_missing(std::uint64_t writes) {
    std::string names;
    for (const auto& file : std::exchange(files_, {})) {
        names += (names.empty() ? "" : ", ") + file.filename().string();
    }
    const auto text = std::to_string(writes) +
                      " writes that were on the disk are not in the write-ahead files any more: "
                      "messages and changes that had been accepted are missing. Kept files: " +
                      (names.empty() ? "none" : names) +
                      ". Restore a backup, or go on without them; then remove the file DAMAGED";
    const auto file = directory_ / kNotes;
    {
        std::ofstream notes{file, std::ios::app};
        notes << text << "\n";
        if (!notes.flush()) {
            core::log_error("log", "damage_not_noted", {{"file", file.string()}, {"damage", text}});
        }
    }
    sync_to_disk(file);
    sync_to_disk(directory_);
}

std::vector<std::string> noted_damage(const fs::path& directory) {
    std::vector<std::string> lines;
    std::ifstream notes{directory / kNotes};
    for (std::string line; lines.size() < kNotesMost && std::getline(notes, line);) {
        if (!line.empty()) lines.push_back(line);
    }
    return lines;
}

}  // namespace beckon::log::embedded
