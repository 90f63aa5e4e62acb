#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/process/process.hpp"
#include "core/clock.hpp"
#include "tools/commands.hpp"
#include "tools/doctor/finding.hpp"
#include "tools/doctor/host_checks.hpp"
#include "tools/doctor/reach_checks.hpp"

#include <optional>

#include <CLI/CLI.hpp>

namespace beckon::tools {

namespace {

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
