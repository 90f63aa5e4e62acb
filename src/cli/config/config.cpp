#include "cli/config/config.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include <toml++/toml.h>

namespace beckon::cli {

using namespace std::chrono_literals;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::string_view kPassThrough = "kafka.librdkafka.";
constexpr Range kPort{0, 65'535};
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kDefaultPorts{
    {{"https://", ":443"}, {"http://", ":80"}}};

std::vector<std::string> names_of(const std::vector<Setting>& settings) {
    std::vector<std::string> names;
    names.reserve(settings.size());
    for (const auto& setting : settings) names.push_back(setting.name);
    return names;
}

std::string toml_text(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* list = node.as_array()) {
        std::string out;
        for (const auto& item : *list) out += (out.empty() ? "" : ",") + toml_text(item);
        return out;
    }
    std::ostringstream out;
    node.visit([&out](const auto& value) {
        if constexpr (toml::is_value<decltype(value)>) out << std::boolalpha << value.get();
    });
    return out.str();
}

void flatten(const toml::table& table, const std::string& prefix, const std::string& file,
             std::vector<RawValue>& out) {
    for (const auto& [key, node] : table) {
        const std::string name = prefix + std::string{key.str()};
        if (const auto* inner = node.as_table()) {
            flatten(*inner, name + ".", file, out);
            continue;
        }
        out.push_back({.name = name,
                       .value = toml_text(node),
                       .where = file + ":" + std::to_string(node.source().begin.line)});
    }
}

std::string unknown_name(const std::string& name, const std::vector<std::string>& known) {
    const auto near = nearest(name, known);
    return "unknown option '" + name + "'" + (near ? "; did you mean '" + *near + "'?" : "");
}

bool is_origin(std::string_view url) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (url.starts_with(scheme)) {
            const auto rest = url.substr(scheme.size());
            return !rest.empty() && rest.find_first_of("/?# ") == std::string_view::npos;
        }
    }
    return false;
}

Setting origin_setting(std::string name, std::string& target, std::string help) {
    auto setting = text_setting(std::move(name), target, std::move(help),
                                "scheme://host[:port] without a path");
    setting.set = [&target](std::string_view text) -> core::Result<void> {
        if (text.ends_with('/')) text.remove_suffix(1);
        if (!text.empty() && !is_origin(text)) {
            return core::fail(core::Fault::invalid,
                              "not an origin such as https://push.example.org (no path)");
        }
        for (const auto& [scheme, port] : kDefaultPorts) {  // an origin does not name its own
            if (text.starts_with(scheme) && text.ends_with(port)) text.remove_suffix(port.size());
        }
        target = text;
        return {};
    };
    return setting;
}

/// What no single option can see.
void check_together(const Config& config, std::vector<ConfigFault>& faults) {
    const auto pair = [&faults](const char* role, const auto& certificate, const auto& key,
                                bool self_signed) {
        const std::string name{role};
        if (certificate.has_value() != key.has_value()) {
            faults.push_back({name + ".tls_certificate, " + name + ".tls_key",
                              "give both (PEM files) or neither"});
        }
        if (self_signed && certificate) {
            faults.push_back({name + ".self_signed",
                              "does not go with " + name + ".tls_certificate: choose one"});
        }
    };
    pair("endpoint", config.endpoint.tls_certificate, config.endpoint.tls_key,
         config.endpoint_self_signed);
    if (config.endpoint.drain >= config.stop_timeout || config.edge.drain >= config.stop_timeout) {
        faults.push_back({"stop_timeout",
                          "must be longer than endpoint.drain and edge.drain, or "
                          "the process ends in the middle of them"});
    }
    pair("edge", config.edge.tls_certificate, config.edge.tls_key, config.edge_self_signed);
}

}  // namespace

std::filesystem::path Config::key_ring_file() const {
    return key_ring.value_or(data / "keys.json");
}

std::vector<Setting> settings_of(Config& c) {
    return {
        // --- the process
        path_setting("data", c.data,
                     "Directory of everything this process keeps; made with mode 0700."),
        optional_path_setting("key_ring", c.key_ring,
                              "Key ring file, shared by all roles; <data>/keys.json if not given."),
        choice_setting("log_level", c.log_level, {"debug", "info", "warn", "error"},
                       "The least level that is written."),
        choice_setting("log_format", c.log_format, {"auto", "json", "text"},
                       "auto: text on a terminal, JSON lines elsewhere."),
        duration_setting("startup_timeout", c.startup_timeout, seconds{1}, seconds{3600},
                         "How long a start waits for a broker before it exits with 1."),
        duration_setting("stop_timeout", c.stop_timeout, seconds{1}, seconds{600},
                         "How long a stop may take after SIGTERM before the process just exits."),
        bytes_setting(
            "cache_bytes", c.cache_bytes, 8U << 20,
            "Memory of all stores of this process: cached blocks and write buffers together. "
            "The embedded log has 80 MiB of its own."),
        bytes_setting("write_buffer_bytes", c.write_buffer_bytes, 4U << 20,
                      "Of cache_bytes, what write buffers may take before they are flushed."),
        // --- the log
        text_setting("kafka.servers", c.kafka.bootstrap_servers,
                     "Brokers to begin with, e.g. 127.0.0.1:9092.", "host:port[,host:port …]"),
        text_setting("kafka.prefix", c.kafka.prefix,
                     "Prefix of all log topics and groups: several stages share a cluster."),
        number_setting("partitions", c.layout.partitions, {1, 65'535},
                       "Partitions of the log topics; fixed when they are made."),
        number_setting("replication_factor", c.layout.replication_factor, {1, 32},
                       "Copies of each partition; 1 only for a try on one broker."),
        durations_setting("tiers", c.layout.tiers, "Maturity delays of retry.0, retry.1, …"),
        duration_setting("history_window", c.layout.history_window, seconds{60},
                         seconds{hours{24 * 30}},
                         "How long finished messages stay visible to replay (compaction lag)."),
        choice_setting("embedded.sync", c.sync, {"always", "interval", "never"},
                       "When a record of the embedded log counts as durable; interval and never "
                       "give up promise 1 for a power loss (not for kill -9)."),
        duration_setting("embedded.sync_interval", c.embedded.sync_interval, milliseconds{1},
                         milliseconds{60'000}, "Between two syncs with embedded.sync=interval."),
        duration_setting("publish_timeout", c.kafka.publish_timeout, milliseconds{100},
                         milliseconds{60'000},
                         "A publish without an answer by then has failed: 503."),
        number_setting("publish_waiting_max", c.kafka.waiting_max, {1, 10'000'000},
                       "Publishes waiting for the log; more are answered 503."),
        // --- the endpoint
        text_setting("endpoint.host", c.endpoint.host, "Address that the HTTP API listens on.",
                     "an IP address"),
        number_setting("endpoint.port", c.endpoint.port, kPort, "Its port; 0 takes any free one."),
        origin_setting("endpoint.url", c.endpoint.public_url,
                       "Public origin of the API: what endpoint URLs begin with and VAPID tokens "
                       "name as audience. Without it: what it listens on."),
        list_setting("endpoint.extra_audiences", c.endpoint.extra_audiences,
                     "Further origins that a VAPID token may name."),
        optional_path_setting("endpoint.tls_certificate", c.endpoint.tls_certificate,
                              "PEM certificate chain; with endpoint.tls_key. Reread at SIGHUP."),
        optional_path_setting("endpoint.tls_key", c.endpoint.tls_key, "PEM private key."),
        bool_setting("endpoint.self_signed", c.endpoint_self_signed,
                     "Make a certificate at the first start and use it (<data>/tls)."),
        list_setting("certificate_names", c.certificate_names,
                     "Host names and addresses of a self-made certificate, beside localhost."),
        number_setting("endpoint.threads", c.endpoint.threads, {0, 1024}, "0: one per core."),
        bytes_setting("endpoint.max_data_bytes", c.endpoint.data_bytes_max, 4096,
                      "Longest body; longer ones get 413 (RFC 8030: at least 4096)."),
        bytes_setting("endpoint.header_bytes_max", c.endpoint.header_bytes_max, 4096,
                      "Longest request line and headers together; longer ones get 431."),
        number_setting("endpoint.max_notification_ttl", c.endpoint.ttl_max_s, {60, 2'592'000},
                       "Longest TTL in seconds; longer ones are lowered to it."),
        duration_setting("endpoint.request_deadline", c.endpoint.request_deadline,
                         milliseconds{100}, milliseconds{600'000},
                         "From the first byte of a request until its reply is written; then it "
                         "is closed."),
        duration_setting("endpoint.keep_alive", c.endpoint.keep_alive, milliseconds{100},
                         milliseconds{3'600'000}, "Idle connections are closed after this."),
        number_setting("endpoint.connections_max", c.endpoint.connections_max, {1, 10'000'000},
                       "Connections in total."),
        number_setting("endpoint.connections_per_address_max",
                       c.endpoint.connections_per_address_max, {0, 10'000'000},
                       "0: no limit (right behind a proxy)."),
        number_setting("endpoint.requests_per_address_per_second",
                       c.endpoint.requests_per_address_per_second, {0, 10'000'000},
                       "More get 429; 0: no limit (right behind a proxy)."),
        number_setting("endpoint.failed_vapid_per_address_per_minute",
                       c.endpoint.failed_vapid_per_address_per_minute, {0, 10'000'000},
                       "Tokens with a wrong signature; more get 429, since each costs 80 µs. "
                       "0: no limit."),
        number_setting("endpoint.vapid_cache_entries", c.endpoint.vapid_cache_entries,
                       {1, 100'000'000}, "Verified VAPID tokens remembered until they expire."),
        bytes_setting("endpoint.publish_bytes_max", c.endpoint.publish_bytes_max, 1U << 20,
                      "Records that wait for the log; more get 503."),
        list_setting("endpoint.trusted_proxies", c.endpoint.trusted_proxies,
                     "Addresses whose Forwarded and X-Forwarded-For headers are believed."),
        list_setting("endpoint.fcm_app_ids", c.endpoint.fcm_app_ids,
                     "App ids that registrations of type fcm may name."),
        list_setting("endpoint.apns_channels", c.endpoint.apns_channels,
                     "Release channels that registrations of type apns may name."),
        list_setting("endpoint.tracking_keys", c.endpoint.tracking_keys,
                     "VAPID public keys (`beckon keys convert`) whose messages are tracked."),
        bool_setting("endpoint.log_requests", c.endpoint.log_requests,
                     "One line per request at info instead of debug; never a token or a body."),
        duration_setting("endpoint.drain", c.endpoint.drain, milliseconds{0}, milliseconds{600'000},
                         "At a stop, running requests have this long."),
        // --- the edge
        text_setting("edge.host", c.edge.host, "Address that the WebSocket port listens on.",
                     "an IP address"),
        number_setting("edge.port", c.edge.port, kPort, "Its port; 0 takes any free one."),
        optional_path_setting("edge.tls_certificate", c.edge.tls_certificate,
                              "PEM certificate chain; with edge.tls_key. Reread at SIGHUP."),
        optional_path_setting("edge.tls_key", c.edge.tls_key, "PEM private key."),
        bool_setting("edge.self_signed", c.edge_self_signed,
                     "Serve wss:// with the same self-made certificate."),
        number_setting("edge.shards", c.edge.shards, {0, 256}, "Threads; 0: one per core."),
        number_setting("edge.delivery_window", c.edge.delivery_window, {1, 10'000},
                       "Unacknowledged notifications per client; further ones wait in the store."),
        number_setting("edge.connections_max", c.edge.connections_max, {1, 100'000'000},
                       "Clients in total; more get 503."),
        number_setting("edge.connections_per_address_max", c.edge.connections_per_address_max,
                       {0, 100'000'000}, "0: no limit (right behind a proxy)."),
        bytes_setting("edge.outbox_bytes_max", c.edge.outbox_bytes_max, 64U << 10,
                      "Unsent bytes of one client; a slower reader is closed."),
        duration_setting("edge.hello_timeout", c.edge.hello_timeout, milliseconds{10},
                         milliseconds{600'000}, "From the connection to its hello."),
        duration_setting("edge.ping_interval", c.edge.ping_interval, milliseconds{10},
                         milliseconds{86'400'000},
                         "Between WebSocket pings; below 60s keeps mobile networks open."),
        duration_setting("edge.ping_timeout", c.edge.ping_timeout, milliseconds{10},
                         milliseconds{600'000},
                         "A ping without a pong by then ends the connection."),
        duration_setting("edge.drain", c.edge.drain, milliseconds{0}, milliseconds{600'000},
                         "At a stop, clients are closed spread over this."),
        // --- operations
        text_setting("ops.host", c.ops.host, "Address of health, readiness and metrics.",
                     "an IP address"),
        number_setting("ops.port", c.ops.port, kPort, "Its port; 0 takes any free one."),
    };
}

core::Result<std::vector<RawValue>> read_config_file(const std::filesystem::path& file) {
    std::ifstream in{file};
    if (!in) {
        return core::fail(core::Fault::not_found, "cannot read the config file " + file.string());
    }
    std::stringstream text;
    text << in.rdbuf();
    try {
        const auto table = toml::parse(text.str(), file.string());
        std::vector<RawValue> out;
        flatten(table, "", file.string(), out);
        return out;
    } catch (const toml::parse_error& error) {
        return core::fail(core::Fault::invalid,
                          file.string() + ":" + std::to_string(error.source().begin.line) +
                              ": not TOML: " + std::string{error.description()});
    }
}

std::vector<RawValue> read_environment(const char* const* environment,
                                       const std::vector<Setting>& settings) {
    std::vector<RawValue> out;
    for (; *environment; ++environment) {
        const std::string_view entry{*environment};
        if (!entry.starts_with("BECKON_")) continue;
        const auto equals = entry.find('=');
        const std::string variable{entry.substr(0, equals)};
        const auto known = std::find_if(settings.begin(), settings.end(), [&](const auto& setting) {
            return variable_of(setting) == variable;
        });
        std::string name = variable;  // unknown ones keep their spelling, for the error
        if (known != settings.end()) name = known->name;
        out.push_back({name, std::string{entry.substr(equals + 1)}, variable});
    }
    return out;
}

std::vector<ConfigFault> apply(const std::vector<RawValue>& values, Config& config,
                               Sources& sources) {
    const auto settings = settings_of(config);
    auto known = names_of(settings);
    known.reserve(2 * settings.size());
    for (const auto& setting : settings) known.push_back(variable_of(setting));
    std::vector<ConfigFault> faults;
    for (const auto& value : values) {
        if (value.name.starts_with(kPassThrough)) {
            config.kafka.librdkafka[value.name.substr(kPassThrough.size())] = value.value;
            sources[value.name] = value.where;
            continue;
        }
        const auto setting = std::find_if(settings.begin(), settings.end(),
                                          [&](const auto& s) { return s.name == value.name; });
        if (setting == settings.end()) {
            faults.push_back({value.where, unknown_name(value.name, known)});
            continue;
        }
        if (const auto done = setting->set(value.value); !done) {
            faults.push_back({value.where, setting->name + " = '" + value.value +
                                               "': " + done.error().message +
                                               " (allowed: " + setting->allowed + ")"});
            continue;
        }
        sources[setting->name] = value.where;
    }
    check_together(config, faults);
    return faults;
}

std::string print_config(Config& config, const Sources& sources) {
    std::ostringstream out;
    for (const auto& setting : settings_of(config)) {
        const auto source = sources.find(setting.name);
        const auto value = setting.get();
        out << setting.name << " = " << (setting.secret && !value.empty() ? "********" : value)
            << "    # " << (source == sources.end() ? "default" : source->second) << "\n";
    }
    for (const auto& [name, value] : config.kafka.librdkafka) {
        const bool secret = name.find("password") != std::string::npos ||
                            name.find("secret") != std::string::npos ||
                            name.find(".key.pem") != std::string::npos;
        const auto source = sources.find(std::string{kPassThrough} + name);
        out << kPassThrough << name << " = " << (secret ? "********" : value) << "    # "
            << (source == sources.end() ? "default" : source->second) << "\n";
    }
    if (config.sync != "always") {
        out << "# note: embedded.sync = " << config.sync
            << " gives up promise 1 for a power loss: a 201 of the last moments may be lost\n";
    }
    return out.str();
}

std::string config_reference() {
    Config defaults;
    std::ostringstream out;
    out << "# Configuration\n\n"
           "Generated by `beckon config reference`; do not edit.\n\n"
           "Flags win over environment variables, those over the file (`--config FILE`, TOML, or\n"
           "`BECKON_CONFIG`), that over the default. The option `edge.port` is `port` in the "
           "table\n"
           "`[edge]` of the file, `--edge-port` as a flag, `BECKON_EDGE_PORT` in the environment.\n"
           "Unknown names are errors. `beckon config print` shows what is in force, and from "
           "where.\n"
           "`kafka.librdkafka.<name>` passes an option to librdkafka (file or flag\n"
           "`--kafka-librdkafka name=value`).\n\n"
           "| option | default | allowed | what it does |\n|---|---|---|---|\n";
    for (const auto& setting : settings_of(defaults)) {
        auto allowed = setting.allowed;
        std::string escaped;
        for (const char c : allowed) escaped += c == '|' ? std::string{"\\|"} : std::string{c};
        out << "| `" << setting.name << "` | "
            << (setting.get().empty() ? "" : "`" + setting.get() + "`") << " | " << escaped << " | "
            << setting.help << " |\n";
    }
    return out.str();
}

}  // namespace beckon::cli
