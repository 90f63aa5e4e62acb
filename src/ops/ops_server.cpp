#include "ops/ops_server.hpp"

#include <stdexcept>
#include <thread>

#include <httplib.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

namespace beckon::ops {

struct OpsServer::Impl {
    httplib::Server server;
    std::jthread thread;
    int port = 0;
};

namespace {

std::string to_json(const Health::Report& report, const std::string& version) {
    nlohmann::ordered_json body;
    body["status"] = report.ready ? "OK" : "ERROR";
    body["version"] = version;
    if (!report.faults.empty()) body["faults"] = report.faults;
    return body.dump();
}

}  // namespace

OpsServer::OpsServer(const OpsConfig& config, const Metrics& metrics, const Health& health)
    : impl_(std::make_unique<Impl>()) {
    auto& server = impl_->server;
    server.new_task_queue = [] { return new httplib::ThreadPool{4}; };
    server.Get("/metrics", [&metrics](const httplib::Request&, httplib::Response& reply) {
        reply.set_content(metrics.text(), "text/plain; version=0.0.4; charset=utf-8");
    });
    const auto readiness = [&health, version = config.version](const httplib::Request&,
                                                               httplib::Response& reply) {
        const auto report = health.report();
        reply.status = report.ready ? 200 : 503;
        reply.set_content(to_json(report, version), "application/json");
    };
    server.Get("/ready", readiness);
    server.Get("/__heartbeat__", readiness);
    const auto liveness = [&health, version = config.version](const httplib::Request&,
                                                              httplib::Response& reply) {
        const auto report = health.report();
        reply.status = report.live ? 200 : 503;
        reply.set_content(to_json(report, version), "application/json");
    };
    server.Get("/live", liveness);
    server.Get("/__lbheartbeat__", liveness);
    server.Get("/__version__",
               [version = config.version](const httplib::Request&, httplib::Response& reply) {
                   const nlohmann::ordered_json body{{"version", version}};
                   reply.set_content(body.dump(), "application/json");
               });
    // Its default, SO_REUSEPORT, would let two processes share the port without a word.
    server.set_socket_options([](int socket) {
        const int on = 1;
        ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    impl_->port = config.port == 0 ? server.bind_to_any_port(config.host.c_str())
                  : server.bind_to_port(config.host.c_str(), config.port) ? config.port
                                                                          : -1;
    if (impl_->port <= 0) {
        throw std::runtime_error("cannot listen on the ops port " + config.host + ":" +
                                 std::to_string(config.port) + " (--ops-port): is it in use?");
    }
    impl_->thread = std::jthread{[&server] { server.listen_after_bind(); }};
    // stop() before the loop runs would be forgotten, and the destructor would wait for ever.
    while (!server.is_running()) std::this_thread::yield();
}

OpsServer::~OpsServer() { impl_->server.stop(); }

std::uint16_t OpsServer::port() const { return static_cast<std::uint16_t>(impl_->port); }

}  // namespace beckon::ops
