#include "app/config/config.hpp"

#include "app/config/config_faults.hpp"
#include "app/config/setting.hpp"
#include "console/canary/canary.hpp"
#include "core/authority.hpp"
#include "fetch/url.hpp"
#include "net/peer_address.hpp"
#include "retry/attempt/address_guard.hpp"
#include "retry/attempt/host_list.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>

namespace beckon::app {

using namespace std::chrono_literals;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Range kPort{0, 65'535};

/// Masked in print: it may have a user name and a password.
Form<std::string> proxy_form() {
    auto form = text_form("http[s]://[user:password@]host:port");
    form.parse = [](std::string_view text) -> core::Result<std::string> {
        const auto url = fetch::Url::parse(std::string{text});
        const bool is_proxy = url && url->scheme().starts_with("http") &&
                              url->part(CURLUPART_PATH) == "/" && !url->part(CURLUPART_QUERY) &&
                              !url->part(CURLUPART_FRAGMENT);
        if (text.empty() || is_proxy) return std::string{text};
        return core::fail(core::Fault::invalid,
                          "not the URL of a proxy such as http://proxy.example.org:3128");
    };
    form.secret = true;
    return form;
}

/// It has characters of a path that every proxy hands on as they are (RFC 3986 section 3.3).
std::string fault_of_path(const std::string& path) {
    constexpr std::size_t kMax = 127;
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    if (path.starts_with('/') && path.size() <= kMax &&
        path.find_first_not_of(kAllowed) == std::string::npos) {
        return {};
    }
    return "is '" + path + "': it begins with / and has at most " + std::to_string(kMax) +
           " letters, digits and -._~/, e.g. /push";
}

/// Why the text is not what browsers send as Origin (RFC 6454 section 6.2), and so equals none;
/// empty if it is.
std::string fault_of_page_origin(const std::string& text) {
    constexpr std::string_view kAuthority = "://";
    const auto at = text.find(kAuthority);
    if (text.starts_with("http")) {
        const auto origin = normalized_origin(text);
        if (!origin) return "has '" + text + "', which is " + origin.error().message;
        return *origin == text ? std::string{}
                               : "has '" + text + "': browsers send it as " + *origin;
    }
    // Of an extension: moz-extension://<id>. A page without an origin sends null.
    const bool good =
        text == "null" || (at != text.npos && at > 0 && text.size() > at + kAuthority.size() &&
                           text.find('/', at + kAuthority.size()) == text.npos);
    return good ? std::string{}
                : "has '" + text + "', which is no origin such as https://app.example.org";
}

std::string fault_of_link(const std::string& link) {
    const auto split = core::split_authority(link);
    const bool good =
        split && may_be_host(split->host) && split->port && core::parse_port(*split->port);
    return good || link.empty()
               ? ""
               : "is '" + link + "': it is host:port, e.g. edge-1.example.org:8082";
}

std::string fault_of_page(const std::string& url) {
    const bool good = url.empty() || url.starts_with("http://") || url.starts_with("https://");
    return good ? "" : "must begin with http:// or https://";
}

template <class Value>
std::string message_of(const core::Result<Value>& result) {
    return result ? std::string{} : result.error().message;
}

std::string fault_of_origin(const std::string& text) { return message_of(normalized_origin(text)); }

std::string fault_of_host(const std::string& text) {
    return message_of(retry::HostList::of({text}));
}

/// The fault of a part that throws it.
template <class Act>
std::string thrown_by(const Act& act) {
    try {
        act();
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return {};
}

std::string fault_of_proxy(const std::string& text) {
    return thrown_by([&] { net::TrustedProxies{{text}}; });
}

}  // namespace

Config defaults_of(Reader reader) {
    // By role; 9092 and 9093 are Kafka's.
    constexpr std::array<std::uint16_t, kRoleNames.size()> kOpsPorts{9090, 9091, 9095,
                                                                     9094, 9096, 9097};
    Config config;
    if (is_role(reader) && reader != Reader::standalone) {
        config.data = std::string{"beckon-data-"} + role_name(reader);
        config.ops.port = kOpsPorts.at(static_cast<std::size_t>(reader));
    }
    if (reader == Reader::lag) config.data = "beckon-data-console";
    return config;
}

Reader role_of(const Config& config, std::string_view name) {
    const auto known = std::ranges::find(kRoleNames, name);
    if (known != kRoleNames.end()) return static_cast<Reader>(known - kRoleNames.begin());
    return config.on_kafka() ? Reader::endpoint : Reader::standalone;
}

std::filesystem::path Config::key_ring_file() const {
    return key_ring.value_or(data / "keys.json");
}

core::Result<core::KeyRing> Config::load_key_ring() const {
    using Access = core::KeyRing::Access;
    return core::KeyRing::load(key_ring_file(),
                               key_ring_group_readable ? Access::group : Access::owner);
}

namespace {

std::vector<Setting> process_settings(Config& c) {
    return {
        setting("data", c.data,
                "Directory of everything this process keeps; made with mode 0700. By default "
                "beckon-data (standalone), or beckon-data-<role>, in the "
                "current directory."),
        setting("key_ring", c.key_ring,
                "Key ring file, shared by all roles; <data>/keys.json if not given."),
        setting("key_ring_group_readable", c.key_ring_group_readable,
                "Accept a key ring that its group may read (0640 or 0440), as mounted secrets "
                "are; else only 0600 and 0400."),
        setting("log_level", c.log_level, choice_form({"debug", "info", "warn", "error"}),
                "Least level of the log lines that are written."),
        setting("log_format", c.log_format, choice_form({"auto", "json", "text"}),
                "auto: text on a terminal, JSON lines elsewhere."),
        setting(
            "stop_timeout", c.stop_timeout, duration_form(seconds{1}, seconds{600}),
            "Time that a stop may take after SIGTERM; after it the process exits with 1. Of "
            "it, an edge has half to hand its partitions over, and a fifth to close its clients: "
            "raise it where an edge has tens of thousands, with the grace period of the "
            "supervisor."),
        setting(
            "cache_bytes", c.cache_bytes, bytes_form(8U << 20),
            "Memory of all stores of this process: cached blocks and write buffers together. "
            "The embedded log shares it, and keeps 32 MiB of its newest records besides. For each "
            "MiB of it the role retry has eight attempts under way at most, so raise it where "
            "webhooks have many slow receivers."),
        setting("threads", c.edge.shards, number_form({0, 256}),
                "Threads of the HTTP API, and of the WebSocket port, each of which has its "
                "share of partitions and clients; 0: one for each core. Set it where a "
                "container has less processor time than the host has cores."),
    };
}

std::vector<Setting> log_settings(Config& c) {
    return {
        setting("kafka.servers", c.kafka.bootstrap_servers, text_form("host:port[,host:port …]"),
                "Brokers to begin with, e.g. 127.0.0.1:9092."),
        setting("kafka.prefix", c.kafka.prefix,
                "Prefix of the names of all log topics and groups, so that several "
                "installations can share a Kafka cluster."),
        setting("partitions", c.layout.partitions, number_form({0, 65'535}),
                "Partitions of the log topics, fixed when they are made; 0: those that "
                "they have, " +
                    std::to_string(log::kDefaultPartitions) + " of a new log."),
        setting("replication_factor", c.layout.replication_factor, number_form({1, 32}),
                "Copies of each partition. 1 is for a trial on one broker: roles start on "
                "fewer than 3 copies only if this setting allows it."),
        setting("tiers", c.layout.tiers, "Maturity delays of retry.0, retry.1, …"),
        setting("history_window", c.layout.history_window,
                duration_form(seconds{60}, seconds{hours{24 * 30}}),
                "How long finished messages stay visible to replay (compaction lag); raise it to "
                "look further back, which costs disk."),
        setting("embedded.sync", c.sync, choice_form({"always", "never"}),
                "When a record of the embedded log counts as durable; never gives up the "
                "promise of a 201 for a power loss (not for kill -9): for a trial or a test."),
    };
}

std::vector<Setting> endpoint_settings(Config& c) {
    return {
        setting("endpoint.host", c.endpoint.host, text_form("an IP address"),
                "Address on which the HTTP API listens."),
        setting("endpoint.port", c.endpoint.port, number_form(kPort),
                "Its port; 0 takes any free one."),
        setting("endpoint.url", c.endpoint.public_url, origin_form(),
                "Public origin of the API: endpoint URLs begin with it, and VAPID tokens "
                "name it as audience. Must be given on Kafka, and where the process listens "
                "on more than loopback; else the address of the API."),
        checked(setting("endpoint.extra_audiences", c.endpoint.extra_audiences,
                        "Further origins that a VAPID token may name."),
                fault_of_origin),
        setting("endpoint.tls_certificate", c.endpoint.tls_certificate,
                "PEM certificate chain; with endpoint.tls_key. Reread at SIGHUP."),
        setting("endpoint.tls_key", c.endpoint.tls_key, "PEM private key."),
        setting("endpoint.self_signed", c.endpoint_self_signed,
                "Make a certificate at the first start and use it (<data>/tls)."),
        setting("certificate_names", c.certificate_names,
                "Host names and addresses of a self-made certificate, beside localhost."),
        setting("endpoint.max_data_bytes", c.endpoint.data_bytes_max, bytes_form(4096),
                "Longest body; longer ones get 413 (RFC 8030: at least 4096). Raise it for senders "
                "that do not encrypt to 4 KiB."),
        setting(
            "endpoint.max_notification_ttl", c.endpoint.ttl_max_s, number_form({60, 2'592'000}),
            "Longest TTL in seconds; longer ones are lowered to it. Lower it where messages for "
            "clients that are away take too much disk."),
        setting("endpoint.connections_max", c.endpoint.connections_max,
                number_form({1, 10'000'000}),
                "Connections in total; each takes memory and a file descriptor."),
        setting("endpoint.connections_per_address_max", c.endpoint.connections_per_address_max,
                number_form({0, 10'000'000}),
                "Connections from one address; 0: no limit (set this behind a proxy)."),
        setting("endpoint.requests_per_address_per_second",
                c.endpoint.requests_per_address_per_second, number_form({0, 10'000'000}),
                "Requests from one address in a second; more get 429. Each endpoint counts "
                "its own: N with E endpoints allow N x E. 0: no limit (set this behind a "
                "proxy)."),
        checked(setting("endpoint.trusted_proxies", c.endpoint.trusted_proxies,
                        "Addresses whose Forwarded and X-Forwarded-For headers are believed."),
                fault_of_proxy),
        setting("endpoint.proxy_protocol", c.endpoint.proxy_protocol,
                "Connections of trusted_proxies begin with a PROXY header, version 1 or 2."),
        setting(
            "endpoint.fcm_app_ids", c.endpoint.fcm_app_ids,
            "App ids that registrations of type fcm may name. Standalone takes them from "
            "retry.fcm.credentials by default. On Kafka, name the apps of retry.fcm.credentials of "
            "the role retry: the endpoint accepts messages for these."),
        setting(
            "endpoint.apns_channels", c.endpoint.apns_channels,
            "Release channels that registrations of type apns may name. Standalone takes them from "
            "retry.apns.credentials by default. On Kafka, name the channels of "
            "retry.apns.credentials of the role retry: the endpoint accepts messages for these."),
        checked(setting("endpoint.tracking_keys", c.endpoint.tracking_keys,
                        "VAPID public keys (`beckon keys convert`) whose messages are tracked."),
                [](const auto& key) { return message_of(ingest::parse_tracking_key(key)); }),
        setting("endpoint.matrix_gateway", c.endpoint.matrix_gateway,
                "Answer Matrix homeservers at /_matrix/push/v1/notify: they push to UnifiedPush "
                "apps of this service without a gateway elsewhere."),
    };
}

std::vector<Setting> edge_settings(Config& c) {
    return {
        setting("edge.host", c.edge.host, text_form("an IP address"),
                "Address on which the WebSocket port listens."),
        setting("edge.port", c.edge.port, number_form(kPort), "Its port; 0 takes any free one."),
        setting("edge.tls_certificate", c.edge.tls_certificate,
                "PEM certificate chain; with edge.tls_key. Reread at SIGHUP."),
        setting("edge.tls_key", c.edge.tls_key, "PEM private key."),
        checked(setting("edge.trusted_proxies", c.edge.trusted_proxies,
                        "Addresses whose Forwarded and X-Forwarded-For headers are believed."),
                fault_of_proxy),
        setting("edge.proxy_protocol", c.edge.proxy_protocol,
                "Connections of trusted_proxies begin with a PROXY header, version 1 or 2."),
        setting("edge.rotation", c.edge.rotation, choice_form({"month", "day", "off"}),
                "Waiting messages are stored by the month or day of their expiry, and a "
                "month or day that is over is dropped whole. After a change the edge "
                "rebuilds its store from the log."),
        setting("edge.max_pending", c.edge.max_pending, number_form({1, 1'000'000}),
                "Messages that may wait for one client; it is checked to within a tenth."),
        setting("edge.max_pending_policy", c.edge.max_pending_policy,
                choice_form({"drop-oldest", "reset"}),
                "Policy for a client with more messages: drop-oldest drops its oldest ones; "
                "reset removes the client, which registers again under a new UAID."),
        setting("edge.client_ttl", c.edge.client_ttl,
                duration_form(seconds{hours{24 * 7}}, seconds{hours{24 * 3'650}}),
                "Time after which a client that does not connect is removed, with its "
                "channels and messages."),
        checked(
            setting("edge.path", c.edge.path,
                    "Path of the WebSocket URL, for a name that is shared with other services."),
            fault_of_path),
        checked(setting("edge.allowed_origins", c.edge.allowed_origins,
                        "Origins of web pages that may connect, as in their Origin header. Clients "
                        "without an Origin header always may. Empty: all origins."),
                fault_of_page_origin),
        setting("edge.connections_max", c.edge.connections_max, number_form({1, 100'000'000}),
                "Clients in total; more get 503. Each takes memory and a file descriptor "
                "(docs/scale.md)."),
        setting("edge.connections_per_address_max", c.edge.connections_per_address_max,
                number_form({0, 100'000'000}),
                "Connections from one address; 0: no limit (set this behind a proxy)."),
        setting("edge.ping_interval", c.edge.ping_interval,
                duration_form(milliseconds{10}, milliseconds{86'400'000}),
                "Time between WebSocket pings to a client; below 60s mobile networks keep "
                "the connection."),
        checked(
            setting("edge.broadcasts_url", c.edge.broadcasts_url, text_form("an http or https URL"),
                    "URL of a page with the versions of broadcasts; one edge of the cluster polls "
                    "it. Empty: none is polled."),
            fault_of_page),
        setting("edge.standby_count", c.edge.standby_count, number_form({0, 16}),
                "Other edges that keep a warm copy of each partition. The controller's "
                "counts, so all edges should have the same."),
        setting("edge.zone", c.edge.zone, text_form("any text"),
                "Where this edge fails together with others: a data centre, a rack. The home "
                "of a partition and its standbys are in different zones. Empty: none is known."),
        setting(
            "edge.session_timeout", c.edge.session_timeout,
            duration_form(milliseconds{1'000}, milliseconds{60'000}),
            "Time without a heartbeat after which an edge counts as dead, and other edges take its "
            "partitions over. Brokers refuse less than their group.min.session.timeout.ms (6 s by "
            "default) and more than their group.max.session.timeout.ms."),
        setting("edge.link_host", c.edge.link_host, text_form("an IP address"),
                "Address that the port for links to other edges listens on."),
        setting("edge.link_port", c.edge.link_port, number_form(kPort),
                "Its port; 0 takes any free one."),
        checked(
            setting("edge.link_address", c.edge.link_address, text_form("host:port"),
                    "Address (host:port) at which the other edges reach that port; edge.link_host "
                    "and edge.link_port if not given."),
            fault_of_link),
    };
}

std::vector<Setting> retry_settings(Config& c) {
    return {
        setting("retry.host", c.retry.host, text_form("an IP address"),
                "Address that the API for webhooks listens on."),
        setting("retry.port", c.retry.port, number_form(kPort), "Its port; 0 takes any free one."),
        setting("retry.tls_certificate", c.retry.tls_certificate,
                "PEM certificate chain; with retry.tls_key. Reread at SIGHUP."),
        setting("retry.tls_key", c.retry.tls_key, "PEM private key."),
        setting("retry.threads", c.retry.threads, number_form({1, 64}),
                "Threads for deliveries; each has its share of partitions and attempts. Raise it "
                "where deliveries are late and beckon_retry_longest_turn_seconds grows."),
        checked(
            setting("retry.allowed_addresses", c.retry.allowed_addresses,
                    "Addresses and ranges (10.1.0.0/16) that webhooks may lead to besides public "
                    "ones; any: all. Every owner of webhooks can then have requests sent there."),
            [](const auto& text) { return message_of(retry::AddressGuard::with_allowed({text})); }),
        checked(setting("retry.allowed_hosts", c.retry.allowed_hosts,
                        "Hosts (receiver.internal; *.internal: all below) that webhooks may "
                        "lead to although "
                        "their addresses are private, shared or loopback. Requests to them, "
                        "of bridges too, "
                        "bypass retry.proxy."),
                fault_of_host),
        setting("retry.proxy", c.retry.proxy, proxy_form(),
                "Proxy for requests to webhooks, FCM and APNs. It decides which addresses "
                "the name of a receiver may lead to; Beckon vets those that a webhook's URL "
                "names itself."),
        setting("retry.ca_file", c.retry.ca_file, text_form("a path"),
                "PEM file of certificate authorities for receivers and retry.proxy, besides "
                "the system's."),
        setting("retry.client_certificate", c.retry.client_certificate,
                "PEM certificate chain for receivers that ask for one; with "
                "retry.client_key. Reread at each connection."),
        setting("retry.client_key", c.retry.client_key, "PEM private key of that."),
        checked(setting("retry.client_certificate_hosts", c.retry.client_certificate_hosts,
                        "Hosts of receivers (receiver.example; *.example: all below) that get "
                        "retry.client_certificate; by default all."),
                fault_of_host),
        setting("retry.age_max", c.retry.age_max,
                duration_form(seconds{1}, seconds{hours{24 * 30}}),
                "Age after which a delivery is not attempted any more: as long as receivers may be "
                "away."),
        setting("retry.events_per_owner_per_second", c.retry.events_per_owner_per_second,
                number_form({0, 10'000'000}),
                "Events that one owner may post in a second; more get 429. Each process of "
                "the role retry counts its own: N with P processes allow N x P. 0: no "
                "limit."),
        setting("retry.max_runtime", c.retry.max_runtime,
                duration_form(seconds{0}, seconds{hours{24 * 365}}),
                "`beckon retry` ends by itself after this, and starts no attempt that "
                "could outlive it; for schedulers. 0s: never."),
    };
}

std::vector<Setting> bridge_settings(Config& c) {
    return {
        setting("retry.fcm.credentials", c.retry.fcm_credentials,
                "APP=FILE for each app of FCM: the app id that registrations name, and the "
                "JSON of a service account. Files are read at the start."),
        setting("retry.apns.credentials", c.retry.apns_credentials,
                "CHANNEL=FILE for each release channel of APNs: JSON with team_id, key_id, "
                "key_file (the .p8 file), topic and sandbox. Files are read at the start."),
    };
}

std::vector<Setting> console_settings(Config& c) {
    auto canary =
        setting("console.canary", c.console.canary,
                "WebSocket URLs of edges to which the console subscribes, to push through "
                "each of them every 10 s; ws://*:8080/ is every edge of the cluster, at the "
                "host of its link address. An http:// or https:// origin among them is where "
                "it POSTs, if it does not reach endpoint.url. None: no canary.");
    canary.faults = [&targets = c.console.canary] {
        auto fault = thrown_by([&] { console::canary_targets(targets); });
        return fault.empty() ? std::vector<std::string>{} : std::vector{std::move(fault)};
    };
    return {
        setting("console.host", c.console.host, text_form("an IP address"),
                "Address that the console listens on."),
        setting("console.port", c.console.port, number_form(kPort),
                "Its port; 0 takes any free one."),
        setting(
            "console.token_file", c.console.token_file,
            "A file with the token to log in with, at least 16 characters. Without it everybody "
            "who reaches the port sees the console, so it then listens on this host alone."),
        std::move(canary),
        checked(
            setting("console.retry_urls", c.console.retry_urls,
                    "Origins of the API of every process with the role retry, from which the "
                    "console gets the last attempts at webhooks and the dead letters, and which "
                    "redrives them; none: it does not show them."),
            fault_of_origin),
    };
}

std::vector<Setting> ops_settings(Config& c) {
    return {
        setting("ops.host", c.ops.host, text_form("an IP address"),
                "Address of health, readiness and metrics."),
        setting("ops.port", c.ops.port, number_form(kPort),
                "Its port; 0 takes any free one. By default 9090 (standalone), 9091 "
                "(endpoint), 9094 (retry), 9095 (edge), 9096 (reliability) or 9097 (console)."),
    };
}

/// Values that no operator has a reason to choose, and that a test shortens or leads elsewhere:
/// constants of the roles, under names that begin with `test.`.
std::vector<Setting> test_settings(Config& c) {
    std::vector<Setting> all{
        setting("test.startup_timeout", c.startup_timeout, duration_form(seconds{1}, seconds{3600}),
                ""),
        setting("test.publish_timeout", c.kafka.publish_timeout,
                duration_form(milliseconds{100}, milliseconds{60'000}), ""),
        setting("test.request_deadline", c.endpoint.request_deadline,
                duration_form(milliseconds{100}, milliseconds{60'000}), ""),
        setting("test.webhook_memory_per_owner_max", c.retry.webhook_memory_per_owner_max,
                bytes_form(1U << 20), ""),
        setting("test.edge_self_signed", c.edge_self_signed, ""),
        setting("test.hello_timeout", c.edge.hello_timeout,
                duration_form(milliseconds{10}, milliseconds{600'000}), ""),
        setting("test.client_ping_interval_min", c.edge.client_ping_interval_min,
                duration_form(milliseconds{0}, milliseconds{60'000}), ""),
        setting("test.broadcasts_interval", c.edge.broadcasts_interval,
                duration_form(milliseconds{100}, milliseconds{60'000}), ""),
        setting("test.retry_workers", c.retry_workers, number_form({0, 10'000}), ""),
        setting("test.fcm_url", c.retry.fcm_url, origin_form(), ""),
        setting("test.apns_url", c.retry.apns_url, origin_form(), ""),
    };
    for (auto& setting : all) setting.for_tests = true;
    return all;
}

}  // namespace

std::vector<Setting> settings_of(Config& c) {
    std::vector<Setting> all;
    for (auto* const part :
         {&process_settings, &log_settings, &endpoint_settings, &edge_settings, &retry_settings,
          &bridge_settings, &console_settings, &ops_settings, &test_settings}) {
        for (auto& setting : part(c)) all.push_back(std::move(setting));
    }
    return all;
}

}  // namespace beckon::app
