#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/config/config.hpp"
#include "app/config/config_faults.hpp"
#include "app/process/process.hpp"
#include "core/ascii.hpp"
#include "core/clock.hpp"
#include "core/descriptors.hpp"
#include "core/json_text.hpp"
#include "core/time_guard.hpp"
#include "net/connection_limiter.hpp"
#include "net/self_signed.hpp"
#include "net/tls.hpp"
#include "tools/commands.hpp"
#include "tools/doctor/reach_checks.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/statvfs.h>

namespace beckon::tools {

namespace {

/// RocksDB needs space for a compaction beside its files.
constexpr std::uintmax_t kFreeBytesWanted = 1ULL << 30;
constexpr int kDaysWanted = 21;
constexpr unsigned kOthers = 077;

std::string megabytes(std::uintmax_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

/// Faults that no single setting shows (`beckon config print` shows the origin of each setting).
Finding check_configuration(const app::Config& config, app::Reader role) {
    const auto faults = app::faults_of(config, role);
    if (faults.empty()) return {.what = "configuration", .detail = "nothing contradicts itself"};
    const auto detail = core::joined(faults, "; ", [](const app::ConfigFault& fault) {
        return fault.where + ": " + fault.what;
    });
    return {Verdict::bad, "configuration", detail, "docs/configuration.md lists every setting"};
}

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

/// Whether a time service keeps the clock.
Finding check_clock() {
    if (core::host_clock_is_disciplined()) {
        return {.what = "clock", .detail = "a time service keeps it"};
    }
    return {Verdict::doubtful, "clock", "no time service keeps it (adjtimex)",
            "install chrony or systemd-timesyncd: VAPID tokens and TTLs depend on it"};
}

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

/// That it is valid now and for some time; `remedy`: where it is not.
Finding check_validity(const std::string& what, const std::filesystem::path& certificate,
                       const std::string& remedy) {
    const auto facts = net::read_certificate(certificate);
    if (!facts) return {Verdict::unknown, what, facts.error().message, ""};
    const auto left = facts->expires - std::chrono::system_clock::now();
    const auto days = std::chrono::floor<std::chrono::days>(left).count();
    const auto detail = days < 0 ? "ended " + std::to_string(-days) + " days ago"
                                 : "ends in " + std::to_string(days) + " days";
    if (days >= kDaysWanted) return {.what = what, .detail = detail};
    return {days < 0 ? Verdict::bad : Verdict::doubtful, what, detail, remedy};
}

/// That they can be read, belong together, and are valid.
Finding check_certificate(const std::string& role, const net::TlsFiles& files) {
    const auto what = role + " certificate";
    if (const auto good = net::check(files); !good) {
        return {Verdict::bad, what, good.error().message,
                "name the leaf's certificate (first in its file) and its key, as PEM files that "
                "this user may read"};
    }
    return check_validity(what, files.certificate, "renew it and send SIGHUP");
}

constexpr std::size_t kVerdictWidth = 8;
constexpr std::size_t kWhatWidth = 24;

std::string padded(std::string_view text, std::size_t width) {
    std::string out{text};
    out.resize(std::max(width, out.size() + 1), ' ');
    return out;
}

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::good: return "ok";
        case Verdict::unknown: return "unknown";
        case Verdict::doubtful: return "warning";
        case Verdict::bad: return "BAD";
    }
    return "unknown";
}

std::string findings_text(const Findings& findings) {
    std::string out;
    for (const auto& finding : findings) {
        out += padded(name_of(finding.verdict), kVerdictWidth) + padded(finding.what, kWhatWidth) +
               finding.detail;
        if (!finding.remedy.empty()) out += " -> " + finding.remedy;
        out += "\n";
    }
    return out;
}

std::string findings_json(const Findings& findings) {
    auto out = nlohmann::ordered_json::array();
    for (const auto& finding : findings) {
        out.push_back({{"verdict", name_of(finding.verdict)},
                       {"what", finding.what},
                       {"detail", finding.detail},
                       {"remedy", finding.remedy}});
    }
    return core::json_text(out);
}

int exit_code(const Findings& findings) {
    const bool bad = std::ranges::any_of(
        findings, [](const Finding& finding) { return finding.verdict == Verdict::bad; });
    return bad ? 1 : 0;
}

struct DoctorOptions {
    std::string role;
    bool json = false;
};

void add_certificates(const app::Config& config, Findings& findings) {
    const auto add = [&](const char* role, const auto& certificate, const auto& key) {
        if (certificate && key) findings.push_back(check_certificate(role, {*certificate, *key}));
    };
    add("endpoint", config.endpoint.tls_certificate, config.endpoint.tls_key);
    add("edge", config.edge.tls_certificate, config.edge.tls_key);
    add("retry", config.retry.tls_certificate, config.retry.tls_key);
    const auto kafka = config.kafka.librdkafka.find("ssl.certificate.location");
    if (kafka == config.kafka.librdkafka.end()) return;
    findings.push_back(check_validity("kafka certificate", kafka->second,
                                      "renew it, then restart one process after the other"));
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
    auto& command = line.add(
        line.top(), "doctor",
        "Check configuration, keys, clocks, log, certificates and URLs, and show how to mend "
        "faults",
        app::Reader::any, [](const auto& config) {
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
}

}  // namespace beckon::tools
