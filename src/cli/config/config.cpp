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

constexpr std::string_view kMask = "********";
constexpr std::string_view kPassThrough = "kafka.librdkafka.";
constexpr Range kPort{0, 65'535};
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kDefaultPorts{
    {{"https://", ":443"}, {"http://", ":80"}}};

constexpr unsigned bit(Reader reader) { return 1U << static_cast<unsigned>(reader); }
constexpr unsigned kRoles = bit(Reader::standalone) | bit(Reader::endpoint) | bit(Reader::edge) |
                            bit(Reader::retry) | bit(Reader::reliability) | bit(Reader::console);
constexpr unsigned kTools = bit(Reader::topics) | bit(Reader::keys) | bit(Reader::subscriptions);
constexpr unsigned kOnKafka = kRoles & ~bit(Reader::standalone);
constexpr unsigned kClients = bit(Reader::webhooks);
constexpr unsigned kRunning = bit(Reader::running) | bit(Reader::lag);

struct Effect {
    std::string_view prefix;  ///< of the setting's name
    unsigned readers;
};
/// Who reads what; the longest prefix that fits decides.
constexpr std::array<Effect, 26> kEffects{{
    {"", kRoles | kTools | kClients | kRunning},
    {"startup_timeout", kOnKafka},
    {"stop_timeout", kRoles},
    {"cache_bytes", kRoles},
    {"write_buffer_bytes", kRoles},
    {"certificate_names", kRoles},
    {"kafka.", kOnKafka | kTools | bit(Reader::lag)},
    {"publish_timeout", kOnKafka},
    {"publish_waiting_max", kRoles},
    {"partitions", bit(Reader::standalone) | kTools},
    {"replication_factor", kOnKafka | bit(Reader::topics)},
    {"tiers", bit(Reader::standalone) | bit(Reader::topics)},
    {"history_window", bit(Reader::standalone) | bit(Reader::topics)},
    {"embedded.", bit(Reader::standalone)},
    {"endpoint.", bit(Reader::standalone) | bit(Reader::endpoint)},
    {"endpoint.url", kRoles},
    {"edge.", bit(Reader::standalone) | bit(Reader::edge)},
    {"edge.link_", bit(Reader::edge)},
    {"edge.hand_over", bit(Reader::edge)},
    {"retry.", bit(Reader::standalone) | bit(Reader::retry)},
    {"retry.host", bit(Reader::standalone) | bit(Reader::retry) | kClients},
    {"retry.port", bit(Reader::standalone) | bit(Reader::retry) | kClients},
    {"retry.max_runtime", bit(Reader::retry)},
    {"console.", bit(Reader::standalone) | bit(Reader::console)},
    {"ops.", kRoles | kRunning},
    {"config", kRoles | kTools | kClients | kRunning},
}};

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

/// The host of an origin, without brackets and port.
std::string_view host_of(std::string_view origin) {
    origin.remove_prefix(origin.find("://") + 3);
    if (origin.starts_with('[')) return origin.substr(1, origin.find(']') - 1);
    return origin.substr(0, origin.find(':'));
}

bool is_any_address(std::string_view host) { return host == "0.0.0.0" || host == "::"; }

Setting origin_setting(std::string name, std::string& target, std::string help) {
    auto setting = text_setting(std::move(name), target, std::move(help),
                                "scheme://host[:port] without a path");
    setting.set = [&target](std::string_view text) -> core::Result<void> {
        if (text.ends_with('/')) text.remove_suffix(1);
        if (!text.empty() && !is_origin(text)) {
            return core::fail(core::Fault::invalid,
                              "not an origin such as https://push.example.org (no path)");
        }
        if (!text.empty() && is_any_address(host_of(text))) {
            return core::fail(core::Fault::invalid,
                              "is an address to listen on, not one that anybody can connect to");
        }
        for (const auto& [scheme, port] : kDefaultPorts) {  // an origin does not name its own
            if (text.starts_with(scheme) && text.ends_with(port)) text.remove_suffix(port.size());
        }
        target = text;
        return {};
    };
    return setting;
}

bool is_loopback(std::string_view host) {
    return host == "::1" || host == "localhost" || host.starts_with("127.");
}

/// Endpoint URLs go to other hosts, so they need a name that works there.
void check_public_url(const Config& config, Reader reader, std::vector<ConfigFault>& faults) {
    if (!config.endpoint.public_url.empty()) return;
    const std::string wanted =
        "must be given (the public origin of the HTTP API, e.g. https://push.example.org)";
    if (reader == Reader::endpoint || reader == Reader::edge) {
        faults.push_back({"endpoint.url", wanted +
                                              ": endpoints and edges on Kafka hand out the same "
                                              "endpoint URLs"});
    }
    if (reader != Reader::standalone) return;
    for (const auto& [name, host] : {std::pair{"endpoint.host", config.endpoint.host},
                                     std::pair{"edge.host", config.edge.host}}) {
        if (is_loopback(host)) continue;
        faults.push_back({"endpoint.url", wanted + ": " + name + " is " + host +
                                              ", and other hosts could not use an endpoint URL "
                                              "that names this one as localhost"});
        return;
    }
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
    if (config.endpoint.drain >= config.stop_timeout || config.retry.drain >= config.stop_timeout ||
        config.edge.hand_over + config.edge.drain >= config.stop_timeout) {
        faults.push_back({"stop_timeout",
                          "must be longer than endpoint.drain, retry.drain, and edge.hand_over and "
                          "edge.drain together, or the process ends in the middle of them"});
    }
    if (!config.console_token_file && !is_loopback(config.console.host)) {
        faults.push_back(
            {"console.token_file", "must be given with this console.host: whoever reaches " +
                                       config.console.host + " would see the console"});
    }
    const bool anywhere = config.edge.link_host == "0.0.0.0" || config.edge.link_host == "::";
    if (anywhere && config.edge.link_address.empty()) {
        faults.push_back({"edge.link_address",
                          "must be given with this edge.link_host: other edges cannot reach " +
                              config.edge.link_host});
    }
    pair("retry", config.retry.tls_certificate, config.retry.tls_key, false);
    pair("edge", config.edge.tls_certificate, config.edge.tls_key, config.edge_self_signed);
}

}  // namespace

Config defaults_of(Reader reader) {
    Config config;
    config.endpoint.drain = seconds{3};  // shorter than stop_timeout, with room for the log's end
    if (reader == Reader::endpoint) {
        config.data = "beckon-data-endpoint";
        config.ops.port = 9091;
    }
    if (reader == Reader::edge) {
        config.data = "beckon-data-edge";
        config.ops.port = 9095;  // 9092 and 9093 are Kafka's
    }
    if (reader == Reader::retry) {
        config.data = "beckon-data-retry";
        config.ops.port = 9094;
    }
    if (reader == Reader::reliability) {
        config.data = "beckon-data-reliability";
        config.ops.port = 9096;
    }
    if (reader == Reader::console || reader == Reader::lag) {
        config.data = "beckon-data-console";
        config.ops.port = reader == Reader::console ? 9097 : config.ops.port;
    }
    return config;
}

bool has_effect(std::string_view name, Reader reader) {
    if (reader == Reader::any) return true;
    const Effect* best = &kEffects[0];
    for (const auto& effect : kEffects) {
        if (name.starts_with(effect.prefix) && effect.prefix.size() >= best->prefix.size()) {
            best = &effect;
        }
    }
    return (best->readers & bit(reader)) != 0;
}

std::string why_without_effect(std::string_view name, Reader reader) {
    if (name.starts_with("kafka.") && reader == Reader::standalone) {
        return ": it uses the embedded log; `beckon endpoint` and `beckon edge` use Kafka";
    }
    if (name == "partitions" || name == "tiers" || name == "history_window") {
        return ": the log topics have what `beckon topics create` made them with";
    }
    return "";
}

std::filesystem::path Config::key_ring_file() const {
    return key_ring.value_or(data / "keys.json");
}

core::Result<core::KeyRing> Config::load_key_ring() const {
    using Access = core::KeyRing::Access;
    return core::KeyRing::load(key_ring_file(),
                               key_ring_group_readable ? Access::group : Access::owner);
}

std::vector<Setting> settings_of(Config& c) {
    return {
        // --- the process
        path_setting("data", c.data,
                     "Directory of everything this process keeps; made with mode 0700. By default "
                     "beckon-data (standalone), or beckon-data-<role>, in the "
                     "current directory."),
        optional_path_setting("key_ring", c.key_ring,
                              "Key ring file, shared by all roles; <data>/keys.json if not given."),
        bool_setting("key_ring_group_readable", c.key_ring_group_readable,
                     "Accept a key ring that its group may read (0640 or 0440), as mounted secrets "
                     "are; else only 0600 and 0400."),
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
                       "Copies of each partition. 1 is for a try on one broker, and says to the "
                       "roles that you know it."),
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
                       "name as audience. Must be given on Kafka, and where the process listens on "
                       "more than loopback; else what the API listens on."),
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
                         "From the first byte of a request until its reply is written; then the "
                         "connection is closed."),
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
        list_setting("edge.trusted_proxies", c.edge.trusted_proxies,
                     "Addresses whose Forwarded and X-Forwarded-For headers are believed."),
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
        duration_setting("edge.hand_over", c.edge.hand_over, milliseconds{0}, milliseconds{600'000},
                         "At a stop, the other edges have this long to take the partitions over "
                         "before clients are closed."),
        text_setting("edge.link_host", c.edge.link_host,
                     "Address that the port for links to other edges listens on.", "an IP address"),
        number_setting("edge.link_port", c.edge.link_port, kPort,
                       "Its port; 0 takes any free one."),
        text_setting("edge.link_address", c.edge.link_address,
                     "By which the other edges reach that port; edge.link_host and edge.link_port "
                     "if not given.",
                     "host:port"),
        // --- webhooks
        text_setting("retry.host", c.retry.host, "Address that the API for webhooks listens on.",
                     "an IP address"),
        number_setting("retry.port", c.retry.port, kPort, "Its port; 0 takes any free one."),
        optional_path_setting("retry.tls_certificate", c.retry.tls_certificate,
                              "PEM certificate chain; with retry.tls_key. Reread at SIGHUP."),
        optional_path_setting("retry.tls_key", c.retry.tls_key, "PEM private key."),
        number_setting("retry.connections_max", c.retry.connections_max, {1, 1'000'000},
                       "Connections in total; each may hold an event of 256 KiB."),
        duration_setting("retry.request_deadline", c.retry.request_deadline, milliseconds{100},
                         milliseconds{600'000},
                         "From the first byte of a request until its reply is written."),
        number_setting("retry.workers", c.retry.workers, {1, 10'000}, "Attempts at a time."),
        list_setting(
            "retry.allowed_addresses", c.retry.allowed_addresses,
            "Addresses and ranges (10.1.0.0/16) that webhooks may lead to besides public "
            "ones; any: all. Whoever may make webhooks can then have requests sent there."),
        text_setting("retry.ca_file", c.retry.ca_file,
                     "PEM file of certificate authorities for receivers, besides the system's.",
                     "a path"),
        duration_setting("retry.age_max", c.retry.age_max, seconds{1}, seconds{hours{24 * 30}},
                         "A delivery that is older is not attempted any more."),
        duration_setting("retry.failing_max", c.retry.failing_max, seconds{1},
                         seconds{hours{24 * 365}},
                         "A webhook of which nothing has been accepted for so long is disabled."),
        number_setting("retry.webhooks_per_owner_max", c.retry.webhooks_per_owner_max,
                       {1, 1'000'000}, "Webhooks of one owner; more get 409."),
        number_setting("retry.events_per_owner_per_second", c.retry.events_per_owner_per_second,
                       {0, 10'000'000},
                       "Events that one owner may post; more get 429. 0: no limit."),
        duration_setting("retry.drain", c.retry.drain, milliseconds{0}, milliseconds{600'000},
                         "At a stop, requests and attempts under way have this long; an attempt "
                         "without an answer then is made again."),
        duration_setting("retry.max_runtime", c.retry.max_runtime, seconds{0},
                         seconds{hours{24 * 365}},
                         "`beckon retry` ends by itself after this, and starts no attempt that "
                         "could outlive it; for schedulers. 0s: never."),
        // --- the console
        text_setting("console.host", c.console.host, "Address that the console listens on.",
                     "an IP address"),
        number_setting("console.port", c.console.port, kPort, "Its port; 0 takes any free one."),
        optional_path_setting(
            "console.token_file", c.console_token_file,
            "A file with the token to log in with, at least 16 characters. Without it whoever "
            "reaches the port sees the console, so it then listens on this host alone."),
        list_setting("console.canary", c.console_canary,
                     "WebSocket URLs of edges to which the console subscribes, to push through "
                     "each of them every 10 s; none: no canary."),
        // --- operations
        text_setting("ops.host", c.ops.host, "Address of health, readiness and metrics.",
                     "an IP address"),
        number_setting(
            "ops.port", c.ops.port, kPort,
            "Its port; 0 takes any free one. By default 9090 (standalone), 9091 "
            "(endpoint), 9094 (retry), 9095 (edge), 9096 (reliability) or 9097 (console)."),
    };
}

core::Result<std::vector<RawValue>> read_config_file(const std::filesystem::path& file) {
    if (std::filesystem::is_directory(file)) {
        return core::fail(core::Fault::invalid,
                          "the config file " + file.string() + " is a directory");
    }
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

namespace {

constexpr std::string_view kVariablePrefix = "BECKON_";
constexpr std::string_view kPassThroughVariable = "BECKON_KAFKA_LIBRDKAFKA_";
constexpr std::string_view kFromKubernetes =
    "Kubernetes sets it for a service of that name; ignored (rename the service, or set "
    "enableServiceLinks: false)";

/// BECKON_EDGE_SERVICE_HOST, BECKON_EDGE_PORT_8080_TCP_ADDR and the like.
bool is_service_variable(std::string_view variable) {
    return variable.find("_SERVICE_HOST") != std::string_view::npos ||
           variable.find("_SERVICE_PORT") != std::string_view::npos ||
           variable.find("_TCP") != std::string_view::npos ||
           variable.find("_UDP") != std::string_view::npos;
}

/// "SASL_PASSWORD" is sasl.password: no option of librdkafka that takes text has an underscore.
std::string librdkafka_name(std::string_view variable) {
    std::string name;
    for (const char c : variable) {
        name.push_back(c == '_' ? '.' : static_cast<char>(std::tolower(c)));
    }
    return name;
}

void read_variable(const std::string& variable, const std::string& value,
                   const std::vector<Setting>& settings, Environment& out) {
    if (variable == "BECKON_CONFIG") {
        out.config_file = value;
        return;
    }
    if (variable.starts_with(kPassThroughVariable)) {
        const auto name = librdkafka_name(variable.substr(kPassThroughVariable.size()));
        out.values.push_back({std::string{kPassThrough} + name, value, variable});
        return;
    }
    const auto known = std::find_if(settings.begin(), settings.end(), [&](const auto& setting) {
        return variable_of(setting) == variable;
    });
    if (known != settings.end() && !value.starts_with("tcp://")) {
        out.values.push_back({known->name, value, variable});
        return;
    }
    if (known != settings.end() || is_service_variable(variable)) {
        out.ignored.push_back({variable, std::string{kFromKubernetes}});
        return;
    }
    std::vector<std::string> names;
    for (const auto& setting : settings) names.push_back(variable_of(setting));
    out.ignored.push_back({variable, unknown_name(variable, names) + " (ignored)"});
}

}  // namespace

Environment read_environment(const char* const* environment, const std::vector<Setting>& settings) {
    Environment out;
    for (; *environment; ++environment) {
        const std::string_view entry{*environment};
        if (!entry.starts_with(kVariablePrefix)) continue;
        const auto equals = entry.find('=');
        read_variable(std::string{entry.substr(0, equals)}, std::string{entry.substr(equals + 1)},
                      settings, out);
    }
    return out;
}

namespace {

constexpr std::string_view kFileSuffix = ".file";

/// A secret need not stand in a file that is shared, nor in the list of processes.
core::Result<std::string> read_secret(const std::string& file) {
    std::ifstream in{file};
    if (std::filesystem::is_directory(file) || !in) {
        return core::fail(core::Fault::not_found, "cannot read " + file);
    }
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    return text;
}

void pass_through(const RawValue& value, Config& config, Sources& sources,
                  std::vector<ConfigFault>& faults) {
    auto name = value.name.substr(kPassThrough.size());
    auto text = value.value;
    if (name.ends_with(kFileSuffix)) {
        name.resize(name.size() - kFileSuffix.size());
        const auto read = read_secret(value.value);
        if (!read) {
            faults.push_back({value.where, value.name + ": " + read.error().message});
            return;
        }
        text = *read;
    }
    config.kafka.librdkafka[name] = text;
    sources[std::string{kPassThrough} + name] = value.where;
}

}  // namespace

std::vector<ConfigFault> faults_of(const Config& config, Reader reader) {
    std::vector<ConfigFault> faults;
    check_together(config, faults);
    check_public_url(config, reader, faults);
    return faults;
}

std::vector<ConfigFault> apply(const std::vector<RawValue>& values, Config& config,
                               Sources& sources, Reader reader) {
    const auto settings = settings_of(config);
    const auto known = names_of(settings);
    std::vector<ConfigFault> faults;
    for (const auto& value : values) {
        if (value.name.starts_with(kPassThrough)) {
            pass_through(value, config, sources, faults);
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
    const auto more = faults_of(config, reader);
    faults.insert(faults.end(), more.begin(), more.end());
    return faults;
}

namespace {

std::string quoted(std::string_view text) {
    std::string out{'"'};
    for (const char c : text) {
        if (c == '"' || c == '\\') out.push_back('\\');
        out.push_back(c);
    }
    return out + '"';
}

std::string toml_list(std::string_view items) {
    std::string out{"["};
    while (!items.empty()) {
        const auto comma = std::min(items.find(','), items.size());
        out += (out.size() > 1 ? ", " : "") + quoted(items.substr(0, comma));
        items.remove_prefix(std::min(comma + 1, items.size()));
    }
    return out + "]";
}

std::string toml_value(const Setting& setting) {
    const auto text = setting.get();
    switch (setting.kind) {
        case Setting::Kind::text: return quoted(setting.secret && !text.empty() ? kMask : text);
        case Setting::Kind::number:
        case Setting::Kind::boolean: return text;
        case Setting::Kind::list: return toml_list(text);
    }
    return {};
}

/// Whether an option of librdkafka holds what nobody else should read.
bool is_secret(std::string_view name) {
    for (const std::string_view part : {"password", "secret", "key.pem", "oauthbearer.config"}) {
        if (name.find(part) != std::string_view::npos) return true;
    }
    return false;
}

std::string table_of(std::string_view name) {
    const auto dot = name.find('.');
    return std::string{dot == std::string_view::npos ? "" : name.substr(0, dot)};
}

}  // namespace

std::string print_config(Config& config, const Sources& sources) {
    const auto from = [&sources](const std::string& name) {
        const auto source = sources.find(name);
        return "  # " + (source == sources.end() ? "default" : source->second) + "\n";
    };
    auto settings = settings_of(config);
    // TOML wants what belongs to no table first, and each table once.
    std::stable_sort(settings.begin(), settings.end(), [](const auto& a, const auto& b) {
        return table_of(a.name) < table_of(b.name);
    });
    std::ostringstream out;
    std::string table;
    for (const auto& setting : settings) {
        const auto own = table_of(setting.name);
        if (own != table) out << "\n[" << own << "]\n";
        table = own;
        const auto key = own.empty() ? setting.name : setting.name.substr(own.size() + 1);
        out << key << " = " << toml_value(setting) << from(setting.name);
    }
    if (!config.kafka.librdkafka.empty()) out << "\n[kafka.librdkafka]\n";
    for (const auto& [name, value] : config.kafka.librdkafka) {
        out << quoted(name) << " = " << quoted(is_secret(name) ? kMask : value)
            << from(std::string{kPassThrough} + name);
    }
    if (config.sync != "always") {
        out << "# note: embedded.sync = " << config.sync
            << " gives up promise 1 for a power loss: a 201 of the last moments may be lost\n";
    }
    return out.str();
}

std::string config_reference() {
    Config defaults = defaults_of(Reader::any);
    std::ostringstream out;
    out << "# Configuration\n\n"
           "Generated by `beckon config reference`; do not edit.\n\n"
           "Flags win over environment variables, those over the file (`--config FILE`, TOML, or\n"
           "`BECKON_CONFIG`), that over the default. The option `edge.port` is `port` in the "
           "table\n"
           "`[edge]` of the file, `--edge-port` as a flag, `BECKON_EDGE_PORT` in the environment.\n"
           "Unknown names in a file or on the command line are errors, unknown variables are named "
           "and ignored.\n"
           "A flag of a setting that is true or false needs no value. `beckon config print` shows "
           "what is in\n"
           "force and from where, as TOML.\n\n"
           "An option for librdkafka is passed by its own name, which a promise of Beckon may "
           "forbid:\n"
           "`\"sasl.password\" = …` in the table `[kafka.librdkafka]`, `--kafka-librdkafka "
           "sasl.password=…`, or\n"
           "`BECKON_KAFKA_LIBRDKAFKA_SASL_PASSWORD`. With `.file` (`_FILE`) after the name, the "
           "value is what the\n"
           "named file holds, so that a secret stands in no shared file and in no list of "
           "processes.\n\n"
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
