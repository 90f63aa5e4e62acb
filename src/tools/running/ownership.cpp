#include "tools/running/ownership.hpp"

#include "app/installation/key_ring_guard.hpp"
#include "console/pages/client_homes.hpp"
#include "core/authority.hpp"
#include "core/json_text.hpp"
#include "tools/running/ops_client.hpp"

namespace beckon::tools {

namespace {

/// The report of the standalone, which does not stand in its log.
std::optional<cluster::ProcessRecord> standalone(const app::Config& config) {
    const auto reply = ask_ops_port(config.ops, "/process/now");
    if (reply.status != net::kOk) return std::nullopt;
    const auto value = core::json_text(reply.body);
    core::RecordView record;
    record.key = "process/standalone/self";
    record.value = value;
    return cluster::decode_process(record);
}

}  // namespace

std::vector<console::RefusedFacts> refused_posts(ToolLog& log, const app::Config& config,
                                                 const std::string& url) {
    Ownership ownership{log};
    if (log.unreported() == console::Unreported::alive) {
        if (const auto report = standalone(config)) ownership.view().tell(*report);
    } else {
        app::must(ownership.read(kLogReadTimeout));
    }
    const auto token = url.substr(0, url.find_first_of("?#"));
    return ownership.view().refused(token.substr(token.rfind('/') + 1));
}

EdgePage ask_home(ToolLog& log, const app::Config& config, const std::string& target,
                  std::chrono::milliseconds timeout) {
    std::vector<std::string> edges{core::local_authority(config.ops.host, config.ops.port)};
    if (config.on_kafka()) {
        Ownership ownership{log};
        if (ownership.read(kLogReadTimeout)) {
            const auto reported = ownership.view().ops_ports_of_edges();
            edges.insert(edges.end(), reported.begin(), reported.end());
        }
    }
    console::ClientHomes homes{std::nullopt, app::load_key_ring(config)};
    homes.use_edges(edges);
    const auto answer = homes.ask_home(target, timeout);
    if (answer) return {.page = core::parse_json(*answer)};
    return {.why_not = answer.error().message + "; --ops-host and --ops-port name another"};
}

}  // namespace beckon::tools
