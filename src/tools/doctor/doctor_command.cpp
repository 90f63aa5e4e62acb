#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/config/config.hpp"
#include "app/config/config_faults.hpp"
#include "app/process/process.hpp"
#include "core/clock.hpp"
#include "core/descriptors.hpp"
#include "core/handle.hpp"
#include "core/time_guard.hpp"
#include "net/connection_limiter.hpp"
#include "tools/commands.hpp"
#include "tools/doctor/finding.hpp"
#include "tools/doctor/reach_checks.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

namespace beckon::tools {

/// A certificate and its key, as PEM files.
struct CertificateFiles {
    std::string role;  ///< "endpoint"
    std::filesystem::path certificate;
    std::filesystem::path key;
};

namespace {

/// RocksDB needs space for a compaction beside its files.
constexpr std::uintmax_t kFreeBytesWanted = 1ULL << 30;
constexpr int kDaysWanted = 21;
constexpr unsigned kOthers = 077;

using File = core::Handle<std::FILE, std::fclose>;
using Certificate = core::Handle<X509, X509_free>;
using PrivateKey = core::Handle<EVP_PKEY, EVP_PKEY_free>;

File open_file(const std::filesystem::path& path) { return File{std::fopen(path.c_str(), "r")}; }

std::string megabytes(std::uintmax_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

/// Days until a certificate ends; negative: it has. nullopt: the date cannot be read.
std::optional<int> days_left(const X509& certificate, core::Timestamp now) {
    const std::time_t seconds =
        std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
    const core::Handle<ASN1_TIME, ASN1_TIME_free> today{ASN1_TIME_set(nullptr, seconds)};
    int days = 0;
    int rest = 0;
    if (!today ||
        ASN1_TIME_diff(&days, &rest, today.get(), X509_get0_notAfter(&certificate)) != 1) {
        return std::nullopt;
    }
    return rest < 0 ? days - 1 : days;
}

}  // namespace

namespace {

/// Faults that no single setting shows (`beckon config print` shows the origin of each setting).
Finding check_configuration(const app::Config& config, app::Reader role) {
    const auto faults = app::faults_of(config, role);
    if (faults.empty()) return {.what = "configuration", .detail = "nothing contradicts itself"};
    std::string detail;
    for (const auto& fault : faults) {
        detail += (detail.empty() ? "" : "; ") + fault.where + ": " + fault.what;
    }
    return {Verdict::bad, "configuration", detail, "docs/configuration.md lists every setting"};
}

}  // namespace

namespace {

/// The directory's mode, its free space, and the process that holds it.
Finding check_data(const std::filesystem::path& data) {
    constexpr auto kWhat = "data directory";
    struct stat found {};
    if (::stat(data.c_str(), &found) != 0) {
        if (errno == ENOENT) {
            return {Verdict::unknown, kWhat, data.string() + " is not there",
                    "the first start makes it; --data names another"};
        }
        return {Verdict::bad, kWhat, data.string() + ": " + std::strerror(errno),
                "let this user reach it"};
    }
    if ((found.st_mode & kOthers) != 0) {
        return {Verdict::bad, kWhat, data.string() + " is open to other users",
                "chmod 0700 " + data.string()};
    }
    if (const auto foreign = app::foreign_file(data)) {
        return {Verdict::bad, kWhat, foreign->give(data), "or run this as the user of the service"};
    }
    struct statvfs disk {};
    const bool known = ::statvfs(data.c_str(), &disk) == 0;
    const auto free = known ? std::uintmax_t{disk.f_bavail} * disk.f_frsize : 0;
    const auto held =
        app::DataDirectory::in_use(data) ? ", a process holds it" : ", nobody holds it";
    const auto detail = data.string() + ", " + megabytes(free) + " free" + held;
    if (known && free < kFreeBytesWanted) {
        return {Verdict::doubtful, kWhat, detail, "a full disk ends in 503: give it space"};
    }
    return {.what = kWhat, .detail = detail};
}

}  // namespace

namespace {

/// That this process can read it, and other users cannot.
Finding check_key_ring(const app::Config& config) {
    const auto ring = config.load_key_ring();
    if (ring) {
        return {.what = "key ring",
                .detail = config.key_ring_file().string() + ", " +
                          std::to_string(ring->keys().size()) + " keys, fingerprint " +
                          ring->fingerprint()};
    }
    return {Verdict::bad, "key ring", ring.error().message,
            "--key-ring names the file; without it no endpoint URL can be read, so restore it "
            "from the backup rather than making another"};
}

}  // namespace

namespace {

/// Whether a time service keeps the clock.
Finding check_clock() {
    if (core::host_clock_is_disciplined()) {
        return {.what = "clock", .detail = "a time service keeps it"};
    }
    return {Verdict::doubtful, "clock", "no time service keeps it (adjtimex)",
            "install chrony or systemd-timesyncd: VAPID tokens and TTLs depend on it"};
}

}  // namespace

namespace {

/// Whether the limit of open files suffices for the clients that are configured.
Finding check_descriptors(std::size_t clients_wanted) {
    const auto limit = core::raise_descriptor_limit();
    const auto possible = net::clients_possible(clients_wanted, limit);
    const auto detail =
        std::to_string(limit) + " open files, enough for " + std::to_string(possible) + " clients";
    if (possible >= clients_wanted) return {.what = "open files", .detail = detail};
    return {Verdict::doubtful, "open files",
            detail + " of the " + std::to_string(clients_wanted) + " of edge.connections_max",
            "raise the hard limit: LimitNOFILE in the unit, ulimits in a container"};
}

}  // namespace

namespace {

/// That they can be read, belong together, and are valid now and for some time.
Finding check_certificate(const CertificateFiles& files, core::Timestamp now) {
    const auto what = files.role + " certificate";
    const auto certificate_file = open_file(files.certificate);
    const auto key_file = open_file(files.key);
    if (!certificate_file || !key_file) {
        return {Verdict::bad, what,
                "cannot read " + (certificate_file ? files.key : files.certificate).string(),
                "let this user read both files"};
    }
    const Certificate certificate{PEM_read_X509(certificate_file.get(), nullptr, nullptr, nullptr)};
    const PrivateKey key{PEM_read_PrivateKey(key_file.get(), nullptr, nullptr, nullptr)};
    if (!certificate || !key || X509_check_private_key(certificate.get(), key.get()) != 1) {
        return {Verdict::bad, what, "certificate and key are no PEM files that belong together",
                "name the leaf's certificate (first in its file) and its key"};
    }
    const auto days = days_left(*certificate, now);
    if (!days) return {Verdict::unknown, what, "its dates cannot be read", ""};
    const auto detail = "ends in " + std::to_string(*days) + " days";
    if (*days < 0) {
        return {Verdict::bad, what, "ended " + std::to_string(-*days) + " days ago",
                "renew it and send SIGHUP"};
    }
    if (*days < kDaysWanted) {
        return {Verdict::doubtful, what, detail, "renew it and send SIGHUP"};
    }
    return {.what = what, .detail = detail};
}

struct DoctorOptions {
    std::string role;
    bool json = false;
};

void add_certificates(const app::Config& config, Findings& findings) {
    const auto now = core::SystemClock{}.wall();
    const auto add = [&](const char* role, const auto& certificate, const auto& key) {
        if (!certificate || !key) return;
        findings.push_back(
            check_certificate({.role = role, .certificate = *certificate, .key = *key}, now));
    };
    add("endpoint", config.endpoint.tls_certificate, config.endpoint.tls_key);
    add("edge", config.edge.tls_certificate, config.edge.tls_key);
    add("retry", config.retry.tls_certificate, config.retry.tls_key);
}

/// `named`: the operator has named the role, so that its rights are tried too.
Findings examine(const app::Config& config, app::Reader role, bool named) {
    const bool clients = role == app::Reader::standalone || role == app::Reader::edge;
    Findings findings{check_configuration(config, role), check_data(config.data),
                      check_key_ring(config), check_clock()};
    if (clients) findings.push_back(check_descriptors(config.edge.connections_max));
    add_certificates(config, findings);
    append(findings, check_log(config, named ? std::optional{role} : std::nullopt));
    findings.push_back(check_process(config, app::DataDirectory::in_use(config.data)));
    const auto& url = config.endpoint.public_url;
    if (!url.empty()) append(findings, check_public_url(url, core::SystemClock{}.wall()));
    return findings;
}

}  // namespace

void add_doctor_command(app::CommandLine& line) {
    static DoctorOptions asked;
    auto& command = line.add_configured(
        line.top(), "doctor",
        "Check configuration, keys, clocks, log, certificates and URLs, and show how to mend "
        "faults",
        app::Reader::any, [](const app::Config& config, const app::Sources&) {
            const auto findings =
                examine(config, app::role_of(config, asked.role), !asked.role.empty());
            app::print_text(asked.json ? findings_json(findings) + "\n" : findings_text(findings));
            return exit_code(findings);
        });
    command
        .add_option(
            "--role", asked.role,
            "Judge as this role: standalone, endpoint, edge, retry, reliability or console; "
            "on Kafka also try its rights. By default standalone, or endpoint if "
            "kafka.servers is set, without rights")
        ->check(CLI::IsMember(
            std::vector<std::string>{app::kRoleNames.begin(), app::kRoleNames.end()}));
    command.add_flag("--json", asked.json, "One JSON array in a line");
    line.add_server(command);
}

}  // namespace beckon::tools
