#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <unistd.h>

namespace beckon::test {

/// A directory of its own for one test, gone afterwards.
class TempDir {
public:
    TempDir() : TempDir(std::filesystem::temp_directory_path()) {}
    explicit TempDir(const std::filesystem::path& parent) {
        std::string pattern = (parent / "beckon-test-XXXXXX").string();
        if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make " + pattern);
        path_ = pattern;
    }
    ~TempDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    /// Where it costs no disk: for tests that open hundreds of stores and check no durability.
    static std::filesystem::path in_memory() {
        const std::filesystem::path shm = "/dev/shm";
        return access(shm.c_str(), W_OK) == 0 ? shm : std::filesystem::temp_directory_path();
    }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

}  // namespace beckon::test
