#include "ingest/registration/registration.hpp"

#include "core/ascii.hpp"
#include "core/base64url.hpp"
#include "core/contain.hpp"
#include "core/hmac.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/media_type.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::ingest {

using nlohmann::json;

namespace {

constexpr core::Duration kSeenInterval = std::chrono::hours{24};

HttpReply json_reply(const json& body) { return net::json_reply(200, core::json_text(body)); }

/// SHA-256 as hex; empty without a key.
std::string hash_of(const std::optional<std::string>& key) {
    if (!key) return {};
    return core::hex(core::sha256(*key));
}

/// `key_hash` outlives the event.
core::ChannelRecorded channel_event(const core::Uaid& uaid, const core::ChannelId& channel,
                                    core::Timestamp created, const std::string& key_hash) {
    core::ChannelRecorded event;
    event.uaid = uaid;
    event.channel = channel;
    event.created = created;
    if (!key_hash.empty()) event.vapid_sha256 = key_hash;
    return event;
}

core::ClientRecorded client_event(const core::Uaid& uaid, core::RouterType type,
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

Checked<core::RouterType> router_type_of(const CallPtr& call) {
    const auto name = core::lower(call->route.arguments[0]);
    if (name == "fcm") return core::RouterType::fcm;
    if (name == "apns") return core::RouterType::apns;
    if (name == "webpush") {
        return fail(Problem::bad_router_type,
                    "Clients of type webpush register over the WebSocket.");
    }
    return fail(Problem::bad_router_type);
}

}  // namespace

/// Records on their way, and the reply that waits for them.
struct Registration::Writes {
    CallPtr call;
    core::Uaid uaid;
    HttpReply reply;
    std::size_t bytes = 0;  ///< of the records
    std::size_t missing = 0;
    core::Offset last = -1;
    std::optional<core::Error> error;
};

Registration::Registration(const ServiceParts& parts)
    : shared_(parts.shared),
      responder_(parts.responder),
      tokens_(parts.tokens),
      publisher_(parts.publisher),
      executor_(parts.executor) {}

void Registration::handle(const CallPtr& call) {
    if (!shared_.keys->auth_key()) {
        return responder_.refuse(
            call, {Problem::busy, "Registration needs an auth key in the key ring.", 0});
    }
    if (call->route.name == RouteName::registrations) return create(call);
    handle_known(call);
}

Checked<std::string> Registration::router_data_of(const CallPtr& call, core::RouterType type,
                                                  const RegistrationBody& body) const {
    return router_data(type, call->route.arguments[1], body, shared_.config);
}

std::string Registration::endpoint_url(const core::Uaid& uaid, const core::ChannelId& channel,
                                       const std::optional<std::string>& key) {
    std::optional<core::Sha256> bound;
    if (key) bound = core::sha256(*key);
    return shared_.config.origin + "/wpush/" + tokens_.seal_endpoint(uaid, channel, bound);
}

void Registration::create(const CallPtr& call) {
    const auto type = router_type_of(call);
    if (!type) return responder_.refuse(call, type.error());
    const auto body = parse_registration(call->request());
    if (!body) return responder_.refuse(call, body.error());
    const auto data = router_data_of(call, *type, *body);
    if (!data) return responder_.refuse(call, data.error());

    const core::Uaid uaid{core::random_uuid4()};
    const auto channel = body->channel.value_or(core::ChannelId{core::random_uuid4()});
    const auto now = shared_.clock.wall();
    const auto key_hash = hash_of(body->key);
    auto reply = json_reply({{"uaid", core::to_dashed(uaid)},
                             {"channelID", core::to_dashed(channel)},
                             {"endpoint", endpoint_url(uaid, channel, body->key)},
                             {"secret", registration_secret(*shared_.keys->auth_key(), uaid)}});
    write(call, uaid,
          {core::encode(client_event(uaid, *type, *data, now, now)),
           core::encode(channel_event(uaid, channel, now, key_hash))},
          std::move(reply));
}

bool Registration::has_secret(const CallPtr& call, const core::Uaid& uaid) const {
    const auto header = call->request().headers.get(HeaderName::authorization);
    const auto parts = header ? core::split_authorization(*header) : std::nullopt;
    return parts && (parts->is("bearer") || parts->is("webpush")) &&
           is_registration_secret(shared_.keys->auth_keys(), uaid, parts->rest);
}

/// Calls that name a client.
void Registration::handle_known(const CallPtr& call) {
    const auto id = core::parse_uuid(call->route.arguments[2]);
    if (!id) return responder_.refuse(call, {Problem::no_such_client, {}, 0});
    const core::Uaid uaid{*id};
    if (!has_secret(call, uaid)) return responder_.refuse(call, {Problem::wrong_secret, {}, 0});
    if (const auto type = router_type_of(call); !type) {
        return responder_.refuse(call, type.error());
    }
    if (call->route.name == RouteName::subscriptions) return add_channel(call, uaid);
    if (call->route.name == RouteName::subscription) return remove_channel(call, uaid);
    const auto method = call->request().method;
    if (method == Method::put) return update(call, uaid);
    if (method == Method::del) return remove(call, uaid);
    read(call, uaid);
}

void Registration::with_client(const CallPtr& call, const core::Uaid& uaid, WithClient then) {
    const auto found = [this, call, then = std::move(then)](const store::StoredClient& client) {
        if (client.router_type == core::RouterType::webpush) {
            // Its records are ordered by (epoch, seq), which only its home may write.
            return responder_.refuse(
                call, {Problem::bad_router_type,
                       "Clients of type webpush are changed over the WebSocket.", 0});
        }
        then(client);
    };
    // A view that could not be read proves nothing.
    const auto client = shared_.view.store().client(uaid);
    if (!client) return responder_.refuse(call, {Problem::not_ready, {}, 0});
    if (*client) return found(**client);
    shared_.view.confirm(uaid, executor_, [this, call, uaid, found](const auto& confirmed) {
        if (!confirmed) return responder_.refuse(call, {Problem::not_ready, {}, 0});
        const auto now_known = shared_.view.store().client(uaid);
        if (!now_known) return responder_.refuse(call, {Problem::not_ready, {}, 0});
        if (!*now_known) return responder_.refuse(call, {Problem::no_such_client, {}, 0});
        found(**now_known);
    });
}

void Registration::update(const CallPtr& call, const core::Uaid& uaid) {
    const auto type = router_type_of(call);
    const auto body = parse_registration(call->request());
    if (!body) return responder_.refuse(call, body.error());
    auto data = router_data_of(call, *type, *body);
    if (!data) return responder_.refuse(call, data.error());
    with_client(call, uaid,
                [this, call, uaid, type = *type,
                 data = std::move(*data)](const store::StoredClient& client) {
                    const auto now = shared_.clock.wall();
                    write(call, uaid,
                          {core::encode(client_event(uaid, type, data, client.created, now))}, {});
                });
}

/// After a read barrier: a channel that is not in the list is one that does not exist, and clients
/// end their side of it (docs/design.md#the-promises).
void Registration::read(const CallPtr& call, const core::Uaid& uaid) {
    shared_.view.confirm(uaid, executor_, [this, call, uaid](const auto& confirmed) {
        if (!confirmed) return responder_.refuse(call, {Problem::not_ready, {}, 0});
        with_client(call, uaid, [this, call, uaid](const store::StoredClient& client) {
            list(call, uaid, client);
        });
    });
}

void Registration::list(const CallPtr& call, const core::Uaid& uaid,
                        const store::StoredClient& client) {
    const auto channels = shared_.view.store().channels(uaid);
    if (!channels) return responder_.refuse(call, {Problem::not_ready, {}, 0});
    auto ids = json::array();
    for (const auto& channel : *channels) ids.push_back(core::to_dashed(channel));
    auto reply = json_reply({{"uaid", core::to_dashed(uaid)}, {"channelIDs", std::move(ids)}});
    const auto now = shared_.clock.wall();
    if (now - client.last_seen < kSeenInterval) {
        return responder_.finish(call, std::move(reply));
    }
    // The client was here today: `last_seen` is written again, at most once a day.
    write(call, uaid,
          {core::encode(
              client_event(uaid, client.router_type, client.router_data, client.created, now))},
          std::move(reply));
}

void Registration::remove(const CallPtr& call, const core::Uaid& uaid) {
    with_client(call, uaid, [this, call, uaid](const store::StoredClient&) {
        // It ends the client's channels too. An edge removes their records from the log.
        write(call, uaid, {core::encode(core::ClientRemoved{uaid, {}})}, {});
    });
}

void Registration::add_channel(const CallPtr& call, const core::Uaid& uaid) {
    const auto body = parse_subscription(call->request());
    if (!body) return responder_.refuse(call, body.error());
    const auto channel = body->channel.value_or(core::ChannelId{core::random_uuid4()});
    with_client(call, uaid,
                [this, call, uaid, channel, key = body->key](const store::StoredClient&) {
                    if (const auto fits = check_limit(uaid, channel); !fits) {
                        return responder_.refuse(call, fits.error());
                    }
                    const auto key_hash = hash_of(key);
                    const auto event = channel_event(uaid, channel, shared_.clock.wall(), key_hash);
                    auto reply = json_reply({{"channelID", core::to_dashed(channel)},
                                             {"endpoint", endpoint_url(uaid, channel, key)}});
                    write(call, uaid, {core::encode(event)}, std::move(reply));
                });
}

/// Requests under way at a time are not counted: they may take a client a little beyond.
Checked<void> Registration::check_limit(const core::Uaid& uaid,
                                        const core::ChannelId& channel) const {
    const auto known = shared_.view.find(uaid, channel);
    if (!known) return fail(Problem::not_ready);
    if (*known && (*known)->channel_known) return {};
    const store::ChannelLimit limit{shared_.config.channels_per_client_max};
    const auto count = shared_.view.store().count_channels(uaid, limit.rows_max());
    if (!count) return fail(Problem::not_ready);
    if (limit.left(*count) == 0) return fail(Problem::too_many_channels);
    return {};
}

void Registration::remove_channel(const CallPtr& call, const core::Uaid& uaid) {
    with_client(call, uaid, [this, call, uaid](const store::StoredClient&) {
        const auto id = core::parse_uuid(call->route.arguments[3]);
        if (!id) return responder_.refuse(call, {Problem::no_such_subscription, {}, 0});
        const core::ChannelId channel{*id};
        const auto known = [this, uaid, channel]() -> Checked<bool> {
            const auto found = shared_.view.find(uaid, channel);
            if (!found) return fail(Problem::not_ready);
            return *found && (*found)->channel_known;
        };
        const auto tombstone = [this, call, uaid, channel] {
            write(call, uaid, {core::encode(core::ChannelRemoved{uaid, channel, {}})}, {});
        };
        if (known().value_or(false)) return tombstone();
        shared_.view.confirm(
            uaid, executor_, [this, call, known, tombstone](const auto& confirmed) {
                if (!confirmed) return responder_.refuse(call, {Problem::not_ready, {}, 0});
                const auto now_known = known();
                if (!now_known) return responder_.refuse(call, now_known.error());
                if (!*now_known) {
                    return responder_.refuse(call, {Problem::no_such_subscription, {}, 0});
                }
                tombstone();
            });
    });
}

void Registration::write(const CallPtr& call, const core::Uaid& uaid,
                         std::vector<core::Record> records, HttpReply reply) {
    std::size_t bytes = 0;
    for (const auto& record : records) bytes += log::size_of(record);
    if (!shared_.publish_budget.reserve(bytes)) {
        return responder_.refuse(
            call, {Problem::busy, "Too many bytes are waiting; try again later.", 0});
    }
    const auto writes = std::make_shared<Writes>();
    writes->call = call;
    writes->bytes = bytes;
    writes->uaid = uaid;
    writes->reply = std::move(reply);
    writes->missing = records.size();
    const log::TopicPartition where{log::Topic::kSubscriptions,
                                    core::partition_of(uaid, shared_.config.partitions)};
    const auto done = [this, writes](const core::Result<log::Appended>& appended) {
        responder_.published(appended);
        if (appended) {
            writes->last = std::max(writes->last, appended->offset);
        } else {
            writes->error = appended.error();
        }
        if (--writes->missing > 0) return;
        shared_.publish_budget.release(writes->bytes);
        written(writes);
    };
    for (auto& record : records) {
        const bool begun =
            core::contain("endpoint", [&] { publisher_.publish(where, std::move(record), done); });
        if (!begun) done(core::fail(core::Fault::unavailable, "publishing threw"));
    }
}

void Registration::written(const std::shared_ptr<Writes>& writes) {
    if (writes->error) {
        return responder_.refuse(writes->call, log_failure(*writes->error));
    }
    shared_.view.wait_for(writes->uaid, writes->last, executor_, [this, writes](const auto& seen) {
        if (!seen) return responder_.refuse(writes->call, {Problem::busy, {}, 0});
        responder_.finish(writes->call, std::move(writes->reply));
    });
}

namespace {

/// Writing JSON takes stack for each level, and a body has space for thousands.
constexpr int kApsDepthMax = 16;

tl::unexpected<Failure> bad_json(std::string_view detail) {
    return fail(Problem::bad_json, detail);
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

Checked<json> parse_object(const HttpRequest& request) {
    if (request.body_too_large) {
        return fail(request.body_length_given ? Problem::json_too_large : Problem::body_too_large);
    }
    const auto type = request.headers.get(HeaderName::content_type).value_or("");
    if (!core::parse_media_type(type).is_json()) {
        return bad_json("Content-Type must be application/json.");
    }
    auto object = core::parse_json(request.body);
    if (!object.is_object()) return bad_json("The body must be one JSON object.");
    return object;
}

Checked<void> read_channel_and_key(const json& object, RegistrationBody& body) {
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

Checked<json> parse_aps(const std::string& text) {
    bool too_deep = false;
    const auto shallow = [&](int depth, json::parse_event_t, json&) {
        too_deep |= depth > kApsDepthMax;
        return !too_deep;
    };
    auto aps = json::parse(text, shallow, false);
    if (too_deep) return bad_json("aps is nested too deeply.");
    if (!aps.is_object()) return bad_json("aps must be text that holds a JSON object.");
    for (const auto& item : aps.items()) {
        if (!is_known_aps_field(item.key())) return bad_json("aps has an unknown field.");
    }
    return aps;
}

}  // namespace

Checked<RegistrationBody> parse_registration(const HttpRequest& request) {
    const auto object = parse_object(request);
    if (!object) return fail(object.error());
    RegistrationBody body;
    const auto* token = core::find_text(*object, "token");
    if (!token) return bad_json("token is required, as text.");
    body.token = *token;
    if (const auto aps = object->find("aps"); aps != object->end() && !aps->is_null()) {
        if (!aps->is_string()) return bad_json("aps must be text that holds a JSON object.");
        body.aps = aps->get<std::string>();
    }
    if (const auto read = read_channel_and_key(*object, body); !read) return fail(read.error());
    return body;
}

Checked<RegistrationBody> parse_subscription(const HttpRequest& request) {
    RegistrationBody body;
    const auto object = parse_object(request);
    if (!object) return body;
    if (const auto read = read_channel_and_key(*object, body); !read) return fail(read.error());
    return body;
}

Checked<std::string> router_data(core::RouterType type, std::string_view app_id,
                                 const RegistrationBody& body, const ServiceSettings& settings) {
    if (body.token.size() < 8 || body.token.find(' ') != std::string::npos) {
        return bad_json("token must have at least 8 characters and no space.");
    }
    const bool known = settings.knows_app(type, app_id);
    if (type == core::RouterType::fcm) {
        if (!known) return fail(Problem::unknown_app_id);
        return core::json_text(json{{"token", body.token}, {"app_id", app_id}});
    }
    if (!known) return bad_json("The release channel is not configured here.");
    json data{{"token", body.token}, {"rel_channel", app_id}};
    if (body.aps) {
        auto aps = parse_aps(*body.aps);
        if (!aps) return fail(aps.error());
        data["aps"] = std::move(*aps);
    }
    return core::json_text(data);
}

std::string registration_secret(std::string_view auth_key, const core::Uaid& uaid) {
    return core::hex(core::hmac_sha256(auth_key, core::to_hex(uaid)));
}

bool is_registration_secret(const std::vector<std::string>& auth_keys, const core::Uaid& uaid,
                            std::string_view secret) {
    bool fits = false;
    for (const auto& key : auth_keys) {
        fits |= core::same_proof(registration_secret(key, uaid), secret);
    }
    return fits;
}

}  // namespace beckon::ingest
