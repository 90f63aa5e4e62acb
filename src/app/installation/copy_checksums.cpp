#include "app/installation/copy_checksums.hpp"

#include "app/process/process.hpp"
#include "core/base64url.hpp"
#include "core/handle.hpp"
#include "core/logger.hpp"
#include "core/setup_error.hpp"
#include "log/embedded/embedded_log.hpp"
#include "rocks/directory.hpp"

#include <array>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>

#include <openssl/evp.h>

namespace beckon::app {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kReadBytes = 1U << 20;
constexpr std::size_t kHexBytes = 64;
constexpr const char* kLog = "log";
constexpr std::array kStores = {"edge", "endpoint", "reliability"};
/// Between the sum and the name: binary mode.
constexpr std::string_view kBetween = " *";

using Digest = core::Handle<EVP_MD_CTX, EVP_MD_CTX_free>;

[[noreturn]] void refuse(const fs::path& data, const std::string& what) {
    throw core::SetupError("the backup in " + data.string() + " is damaged: " + what +
                           ". Take another copy of it; to use this one all the same, remove " +
                           (data / kChecksums).string());
}

Checksum parse(const fs::path& data, const std::string& line) {
    if (line.size() <= kHexBytes + kBetween.size() ||
        line.compare(kHexBytes, kBetween.size(), kBetween) != 0) {
        refuse(data, std::string{kChecksums} + " has a line that names no file");
    }
    return {line.substr(0, kHexBytes), line.substr(kHexBytes + kBetween.size())};
}

void verify(const fs::path& data, const Checksum& sum) {
    std::error_code error;
    if (!fs::exists(data / sum.file, error)) {
        refuse(data, "its file " + sum.file.string() + " is missing");
    }
    if (sha256_of(data / sum.file) != sum.sha256) {
        refuse(data,
               "its file " + sum.file.string() + " is not as it was when the backup was made");
    }
}

/// RocksDB would read them as files of the copy.
void refuse_files_of_another_time(const fs::path& data, const std::set<fs::path>& named) {
    for (const auto& entry : fs::directory_iterator(data / kLog)) {
        const auto file = fs::path{kLog} / entry.path().filename();
        if (named.contains(file) || file.filename() == "LOCK") continue;
        throw core::SetupError("the backup in " + data.string() +
                               " was copied over other data: its file " + file.string() +
                               " is not of the backup. Remove the directory, and copy the backup "
                               "to that place again");
    }
}

void verify_files(const fs::path& data, std::istream& checksums) {
    std::set<fs::path> named;
    for (std::string line; std::getline(checksums, line);) {
        const auto sum = parse(data, line);
        verify(data, sum);
        named.insert(sum.file);
    }
    if (named.empty()) refuse(data, std::string{kChecksums} + " is empty");
    refuse_files_of_another_time(data, named);
    std::error_code error;
    if (!fs::remove(data / kChecksums, error)) {
        throw StartupError("cannot remove " + (data / kChecksums).string() + ": " +
                           error.message());
    }
    core::log_info("app", "backup_verified", {{"data", data.string()}, {"files", named.size()}});
}

}  // namespace

std::string sha256_of(const fs::path& file) {
    const Digest digest{EVP_MD_CTX_new()};
    std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
    unsigned size = 0;
    bool works = digest && EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) == 1;
    std::ifstream in{file, std::ios::binary};
    for (std::string bytes(kReadBytes, '\0'); works && in;) {
        in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        works = EVP_DigestUpdate(digest.get(), bytes.data(),
                                 static_cast<std::size_t>(in.gcount())) == 1;
    }
    if (!works || !in.eof() || EVP_DigestFinal_ex(digest.get(), sum.data(), &size) != 1) {
        throw StartupError("cannot read " + file.string());
    }
    return core::hex(std::string_view{reinterpret_cast<const char*>(sum.data()), size});
}

void write_checksums(const fs::path& copy, const std::vector<Checksum>& sums) {
    std::ofstream out{copy / kChecksums};
    for (const auto& sum : sums) out << sum.sha256 << kBetween << sum.file.string() << "\n";
    if (!out.flush()) throw StartupError("cannot write " + (copy / kChecksums).string());
}

void accept_copy(const fs::path& data) {
    if (std::ifstream checksums{data / kChecksums}; checksums) verify_files(data, checksums);
    if (!log::is_copy(data / kLog)) return;
    for (const auto* store : kStores) {
        if (!fs::exists(data / store)) continue;
        must(rocks::set_aside(data / store, "the log is a copy of an earlier time"));
    }
}

}  // namespace beckon::app
