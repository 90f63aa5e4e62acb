#include "ingest/registration/registration.hpp"

#include "core/base64url.hpp"
#include "core/codec.hpp"
#include "ingest/service_call.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace beckon::ingest {

using nlohmann::json;

namespace {

constexpr core::Duration kSeenInterval = std::chrono::hours{24};

std::string lower(std::string_view text) {
    std::string out{text};
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return out;
}

/// Subtype `json` or suffix `+json`; parameters do not matter.
bool is_json_type(std::optional<std::string_view> content_type) {
    if (!content_type) return false;
    auto type = lower(content_type->substr(0, content_type->find(';')));
    while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
    return type.ends_with("/json") || type.ends_with("+json");
}

HttpReply json_reply(const json& body) {
    HttpReply reply;
    reply.add("Content-Type", "application/json");
    reply.body = body.dump();
    return reply;
}

tl::unexpected<Failure> bad_json(std::string_view detail) {
    return refuse(Problem::bad_json, detail);
}

/// Only these mean anything to Apple's service; anything else in `aps` is a mistake.
bool is_known_aps_field(std::string_view name) {
    constexpr std::array<std::string_view, 11> kKnown{"alert",           "badge",
                                                      "sound",           "content-available",
                                                      "category",        "thread-id",
                                                      "mutable-content", "target-content-id",
                                                      "url-args",        "interruption-level",
                                                      "relevance-score"};
    return std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
}

core::ClientRecorded recorded(const core::Uaid& uaid, core::RouterType type,
                              std::string_view router_data, core::Timestamp created,
                              core::Timestamp seen) {
    core::ClientRecorded client;
    client.uaid = uaid;
    client.router_type = type;
    client.router_data = router_data;
    client.created = created;
    client.last_seen = seen;
    return client;
}

}  // namespace

/// What a registration's JSON says, once its form is checked.
struct Registration::Body {
    std::string token;
    std::optional<core::ChannelId> channel;
    std::optional<std::string> key;  ///< decoded bytes
    std::optional<std::string> aps;

    static Checked<json> parse(const HttpRequest& request);
    static Checked<Body> registration(const HttpRequest& request);
    /// A subscription's: a body that is no JSON object counts as {}.
    static Checked<Body> subscription(const HttpRequest& request);

private:
    static Checked<void> read_common(const json& object, Body& body);
};

Checked<json> Registration::Body::parse(const HttpRequest& request) {
    if (request.body_too_large) {
        return refuse(request.body_length_given ? Problem::json_too_large
                                                : Problem::body_too_large);
    }
    if (!is_json_type(request.headers.get(HeaderName::content_type))) {
        return bad_json("Content-Type must be application/json.");
    }
    auto object = json::parse(request.body, nullptr, false);
    if (!object.is_object()) return bad_json("The body must be one JSON object.");
    return object;
}

Checked<void> Registration::Body::read_common(const json& object, Body& body) {
    if (const auto channel = object.find("channelID");
        channel != object.end() && !channel->is_null()) {
        const auto id = channel->is_string()
                            ? core::parse_uuid(channel->get_ref<const std::string&>())
                            : std::nullopt;
        if (!id) return bad_json("channelID must be a UUID.");
        body.channel = core::ChannelId{*id};
    }
    if (const auto key = object.find("key"); key != object.end() && !key->is_null()) {
        auto bytes = key->is_string() ? core::parse_base64_any(key->get_ref<const std::string&>())
                                      : std::nullopt;
        if (!bytes) return bad_json("key must be a VAPID public key as base64url text.");
        body.key = std::move(*bytes);
    }
    return {};
}

Checked<Registration::Body> Registration::Body::registration(const HttpRequest& request) {
    const auto object = parse(request);
    if (!object) return tl::unexpected<Failure>(object.error());
    Body body;
    const auto token = object->find("token");
    if (token == object->end() || !token->is_string()) {
        return bad_json("token is required, as text.");
    }
    body.token = token->get<std::string>();
    if (const auto aps = object->find("aps"); aps != object->end() && !aps->is_null()) {
        if (!aps->is_string()) return bad_json("aps must be text that holds a JSON object.");
        body.aps = aps->get<std::string>();
    }
    if (const auto read = read_common(*object, body); !read) {
        return tl::unexpected<Failure>(read.error());
    }
    return body;
}

Checked<Registration::Body> Registration::Body::subscription(const HttpRequest& request) {
    Body body;
    const auto object = parse(request);
    if (!object) return body;
    if (const auto read = read_common(*object, body); !read) {
        return tl::unexpected<Failure>(read.error());
    }
    return body;
}

/// Records on their way, and the reply that waits for them.
struct Registration::Writes {
    CallPtr call;
    core::Uaid uaid;
    HttpReply reply;
    std::size_t missing = 0;
    core::Offset last = -1;
    std::optional<core::Error> error;
};

std::string registration_secret(std::string_view auth_key, const core::Uaid& uaid) {
    const auto text = core::to_hex(uaid);
    std::array<unsigned char, 32> mac{};
    unsigned length = 0;
    HMAC(EVP_sha256(), auth_key.data(), static_cast<int>(auth_key.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &length);
    return core::hex({reinterpret_cast<const char*>(mac.data()), mac.size()});
}

bool is_registration_secret(const std::vector<std::string>& auth_keys, const core::Uaid& uaid,
                            std::string_view secret) {
    bool fits = false;
    for (const auto& key : auth_keys) {
        const auto expected = registration_secret(key, uaid);
        fits |= secret.size() == expected.size() &&
                CRYPTO_memcmp(secret.data(), expected.data(), expected.size()) == 0;
    }
    return fits;
}

void Registration::handle(const CallPtr& call) {
    if (service_.shared_.keys->auth_keys().empty()) {
        return service_.refuse_with(
            call, {Problem::busy, "Registration needs an auth key in the key ring.", 0});
    }
    if (call->route.name == RouteName::registrations) return create(call);
    authorized(call);
}

Checked<core::RouterType> Registration::router_type(const CallPtr& call) const {
    const auto name = lower(call->route.arguments[0]);
    if (name == "fcm") return core::RouterType::fcm;
    if (name == "apns") return core::RouterType::apns;
    if (name == "webpush") {
        return refuse(Problem::bad_router_type,
                      "Clients of type webpush register over the WebSocket.");
    }
    return refuse(Problem::bad_router_type);
}

Checked<std::string> Registration::router_data(core::RouterType type, std::string_view app_id,
                                               const Body& body) const {
    if (body.token.size() < 8 || body.token.find(' ') != std::string::npos) {
        return bad_json("token must have at least 8 characters and no space.");
    }
    const auto& config = service_.shared_.config;
    const auto configured = [&](const std::vector<std::string>& names) {
        return std::find(names.begin(), names.end(), app_id) != names.end();
    };
    if (type == core::RouterType::fcm) {
        if (!configured(config.fcm_app_ids)) return refuse(Problem::unknown_app_id);
        return json{{"token", body.token}, {"app_id", app_id}}.dump();
    }
    if (!configured(config.apns_channels)) {
        return refuse(Problem::bad_json, "The release channel is not configured here.");
    }
    json data{{"token", body.token}, {"rel_channel", app_id}};
    if (body.aps) {
        auto aps = json::parse(*body.aps, nullptr, false);
        if (!aps.is_object()) return bad_json("aps must be text that holds a JSON object.");
        for (const auto& item : aps.items()) {
            if (!is_known_aps_field(item.key())) return bad_json("aps has an unknown field.");
        }
        data["aps"] = std::move(aps);
    }
    return data.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string Registration::endpoint_url(const core::Uaid& uaid, const core::ChannelId& channel,
                                       const std::optional<std::string>& key) {
    std::optional<core::Sha256> bound;
    if (key) bound = core::sha256(*key);
    return service_.shared_.config.origin + "/wpush/" +
           service_.tokens_.seal_endpoint(uaid, channel, bound);
}

void Registration::create(const CallPtr& call) {
    const auto type = router_type(call);
    if (!type) return service_.refuse_with(call, type.error());
    const auto body = Body::registration(call->request());
    if (!body) return service_.refuse_with(call, body.error());
    const auto data = router_data(*type, call->route.arguments[1], *body);
    if (!data) return service_.refuse_with(call, data.error());

    const core::Uaid uaid{core::random_uuid4()};
    const auto channel = body->channel.value_or(core::ChannelId{core::random_uuid4()});
    const auto now = service_.shared_.clock.wall();
    core::ChannelRecorded subscription;
    subscription.uaid = uaid;
    subscription.channel = channel;
    subscription.created = now;
    std::string key_hex;
    if (body->key) {
        const auto digest = core::sha256(*body->key);
        key_hex = core::hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
        subscription.vapid_sha256 = key_hex;
    }
    auto reply = json_reply(
        {{"uaid", core::to_dashed(uaid)},
         {"channelID", core::to_dashed(channel)},
         {"endpoint", endpoint_url(uaid, channel, body->key)},
         {"secret", registration_secret(service_.shared_.keys->auth_keys().front(), uaid)}});
    write(call, uaid,
          {core::encode(recorded(uaid, *type, *data, now, now)), core::encode(subscription)},
          std::move(reply));
}

void Registration::authorized(const CallPtr& call) {
    const auto id = core::parse_uuid(call->route.arguments[2]);
    if (!id) return service_.refuse_with(call, {Problem::no_such_client, {}, 0});
    const core::Uaid uaid{*id};
    const auto header = call->request().headers.get(HeaderName::authorization);
    const auto space = header ? header->find(' ') : std::string_view::npos;
    const auto scheme =
        space == std::string_view::npos ? std::string{} : lower(header->substr(0, space));
    if ((scheme != "bearer" && scheme != "webpush") ||
        !is_registration_secret(service_.shared_.keys->auth_keys(), uaid,
                                header->substr(space + 1))) {
        return service_.refuse_with(call, {Problem::wrong_secret, {}, 0});
    }
    if (const auto type = router_type(call); !type) {
        return service_.refuse_with(call, type.error());
    }
    const auto method = call->request().method;
    switch (call->route.name) {
        case RouteName::registration:
            if (method == Method::put) return update(call, uaid);
            if (method == Method::del) return remove(call, uaid);
            return read(call, uaid);
        case RouteName::subscriptions: return add_channel(call, uaid);
        case RouteName::subscription: return remove_channel(call, uaid);
        case RouteName::send:
        case RouteName::message:
        case RouteName::registrations:
        case RouteName::status:
        case RouteName::health:
        case RouteName::heartbeat:
        case RouteName::lb_heartbeat:
        case RouteName::version:
        case RouteName::errors:
        case RouteName::deliberate_error:
        case RouteName::preflight:
        case RouteName::unknown: break;
    }
    service_.refuse_with(call, {Problem::internal, {}, 0});
}

/// Goes on with a bridged client; "no such user" only after a mark.
void Registration::with_client(const CallPtr& call, const core::Uaid& uaid,
                               std::function<void(const store::StoredClient&)> then) {
    const auto found = [this, call, then = std::move(then)](const store::StoredClient& client) {
        if (client.router_type == core::RouterType::webpush) {
            // Its records are ordered by its home's (epoch, seq), which nobody else may write.
            return service_.refuse_with(
                call, {Problem::bad_router_type,
                       "Clients of type webpush are changed over the WebSocket.", 0});
        }
        then(client);
    };
    if (const auto client = service_.shared_.view.store().client(uaid)) return found(*client);
    service_.shared_.view.confirm(
        uaid, service_.executor_, [this, call, uaid, found](const auto& confirmed) {
            if (!confirmed) return service_.refuse_with(call, {Problem::not_ready, {}, 0});
            const auto client = service_.shared_.view.store().client(uaid);
            if (!client) return service_.deny(call, Problem::no_such_client);
            found(*client);
        });
}

void Registration::update(const CallPtr& call, const core::Uaid& uaid) {
    const auto type = router_type(call);
    const auto body = Body::registration(call->request());
    if (!body) return service_.refuse_with(call, body.error());
    auto data = router_data(*type, call->route.arguments[1], *body);
    if (!data) return service_.refuse_with(call, data.error());
    with_client(call, uaid,
                [this, call, uaid, type = *type,
                 data = std::move(*data)](const store::StoredClient& client) {
                    const auto now = service_.shared_.clock.wall();
                    write(call, uaid,
                          {core::encode(recorded(uaid, type, data, client.created, now))}, {});
                });
}

/// After a mark: a channel that is not in the list is one that does not exist, and clients end
/// their side of it (docs/design.md#the-promises, promise 3).
void Registration::read(const CallPtr& call, const core::Uaid& uaid) {
    service_.shared_.view.confirm(
        uaid, service_.executor_, [this, call, uaid](const auto& confirmed) {
            if (!confirmed) return service_.refuse_with(call, {Problem::not_ready, {}, 0});
            with_client(call, uaid, [this, call, uaid](const store::StoredClient& client) {
                list(call, uaid, client);
            });
        });
}

void Registration::list(const CallPtr& call, const core::Uaid& uaid,
                        const store::StoredClient& client) {
    auto ids = json::array();
    for (const auto& channel : service_.shared_.view.store().channels(uaid)) {
        ids.push_back(core::to_dashed(channel));
    }
    auto reply = json_reply({{"uaid", core::to_dashed(uaid)}, {"channelIDs", std::move(ids)}});
    const auto now = service_.shared_.clock.wall();
    if (now - client.last_seen < kSeenInterval) {
        return service_.finish(call, std::move(reply));
    }
    // Seen today: its life is renewed, at most once a day.
    write(
        call, uaid,
        {core::encode(recorded(uaid, client.router_type, client.router_data, client.created, now))},
        std::move(reply));
}

void Registration::remove(const CallPtr& call, const core::Uaid& uaid) {
    with_client(call, uaid, [this, call, uaid](const store::StoredClient&) {
        // The client's tombstone alone ends its channels; theirs let compaction clear the keys.
        std::vector<core::Record> records{core::encode(core::ClientRemoved{uaid, {}})};
        for (const auto& channel : service_.shared_.view.store().channels(uaid)) {
            records.push_back(core::encode(core::ChannelRemoved{uaid, channel, {}}));
        }
        write(call, uaid, std::move(records), {});
    });
}

void Registration::add_channel(const CallPtr& call, const core::Uaid& uaid) {
    const auto body = Body::subscription(call->request());
    if (!body) return service_.refuse_with(call, body.error());
    const auto channel = body->channel.value_or(core::ChannelId{core::random_uuid4()});
    with_client(
        call, uaid, [this, call, uaid, channel, key = body->key](const store::StoredClient&) {
            core::ChannelRecorded subscription;
            subscription.uaid = uaid;
            subscription.channel = channel;
            subscription.created = service_.shared_.clock.wall();
            std::string key_hex;
            if (key) {
                const auto digest = core::sha256(*key);
                key_hex = core::hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
                subscription.vapid_sha256 = key_hex;
            }
            auto reply = json_reply({{"channelID", core::to_dashed(channel)},
                                     {"endpoint", endpoint_url(uaid, channel, key)}});
            write(call, uaid, {core::encode(subscription)}, std::move(reply));
        });
}

void Registration::remove_channel(const CallPtr& call, const core::Uaid& uaid) {
    with_client(call, uaid, [this, call, uaid](const store::StoredClient&) {
        const auto id = core::parse_uuid(call->route.arguments[3]);
        if (!id) return service_.refuse_with(call, {Problem::no_such_subscription, {}, 0});
        const core::ChannelId channel{*id};
        const auto known = [this, uaid, channel] {
            const auto found = service_.shared_.view.find(uaid, channel);
            return found && found->channel_known;
        };
        const auto tombstone = [this, call, uaid, channel] {
            write(call, uaid, {core::encode(core::ChannelRemoved{uaid, channel, {}})}, {});
        };
        if (known()) return tombstone();
        service_.shared_.view.confirm(
            uaid, service_.executor_, [this, call, known, tombstone](const auto& confirmed) {
                if (!confirmed) return service_.refuse_with(call, {Problem::not_ready, {}, 0});
                if (!known()) return service_.deny(call, Problem::no_such_subscription);
                tombstone();
            });
    });
}

void Registration::write(const CallPtr& call, const core::Uaid& uaid,
                         std::vector<core::Record> records, HttpReply reply) {
    const auto writes = std::make_shared<Writes>();
    writes->call = call;
    writes->uaid = uaid;
    writes->reply = std::move(reply);
    writes->missing = records.size();
    const log::TopicPartition where{log::Topic::kSubscriptions,
                                    core::partition_of(uaid, service_.shared_.config.partitions)};
    for (auto& record : records) {
        service_.publisher_->publish(
            where, std::move(record), [this, writes](const core::Result<log::Appended>& appended) {
                if (appended) {
                    writes->last = std::max(writes->last, appended->offset);
                } else {
                    writes->error = appended.error();
                }
                if (--writes->missing == 0) written(writes);
            });
    }
}

void Registration::written(const std::shared_ptr<Writes>& writes) {
    if (writes->error) {
        return service_.refuse_with(writes->call, log_failure(*writes->error));
    }
    service_.shared_.view.wait_for(
        writes->uaid, writes->last, service_.executor_, [this, writes](const auto& seen) {
            if (!seen) return service_.refuse_with(writes->call, {Problem::busy, {}, 0});
            service_.finish(writes->call, std::move(writes->reply));
        });
}

}  // namespace beckon::ingest
