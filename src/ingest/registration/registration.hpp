#pragma once

#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/tokens.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/api/http.hpp"
#include "ingest/call/responder.hpp"
#include "log/event_log.hpp"
#include "records/events.hpp"
#include "store/subscription_store.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::ingest {

/// `lower-hex(HMAC-SHA256(auth key, uaid as 32 hex digits))`
/// (docs/protocol/http-api.md#registration-secret).
std::string registration_secret(std::string_view auth_key, const core::Uaid& uaid);
/// Tries every key of the ring, in constant time each.
bool is_registration_secret(const std::vector<std::string>& auth_keys, const core::Uaid& uaid,
                            std::string_view secret);

/// The parsed JSON of a registration call, its form checked.
struct RegistrationBody {
    std::string token;
    std::optional<core::ChannelId> channel;
    std::optional<std::string> key;  ///< decoded bytes
    std::optional<std::string> aps;
};

/// Parses the body of POST and PUT of a registration. Failures: bad_json, json_too_large,
/// body_too_large.
Checked<RegistrationBody> parse_registration(const HttpRequest& request);
/// Parses the body of POST of a subscription: one that is no JSON object counts as {}.
Checked<RegistrationBody> parse_subscription(const HttpRequest& request);

/// Router data as JSON text, after the checks of the bridge.
Checked<std::string> router_data(core::RouterType type, std::string_view app_id,
                                 const RegistrationBody& body, const ServiceSettings& settings);

/// The registration REST calls for bridged clients (docs/protocol/http-api.md#registration).
/// Everything is written to `subscriptions` and answered when the log has it and the own view has
/// passed it, so that it is usable at once. Part of a Service, on its thread.
class Registration {
public:
    explicit Registration(const ServiceParts& parts);

    void handle(const CallPtr& call);

private:
    struct Writes;
    using WithClient = std::function<void(const store::StoredClient&)>;

    void create(const CallPtr& call);
    void handle_known(const CallPtr& call);
    /// Goes on with a bridged client; "no such client" only after a read barrier.
    void with_client(const CallPtr& call, const core::Uaid& uaid, WithClient then);

    void update(const CallPtr& call, const core::Uaid& uaid);
    void read(const CallPtr& call, const core::Uaid& uaid);
    void list(const CallPtr& call, const core::Uaid& uaid, const store::StoredClient& client);
    void remove(const CallPtr& call, const core::Uaid& uaid);
    void add_channel(const CallPtr& call, const core::Uaid& uaid);
    Checked<void> check_limit(const core::Uaid& uaid, const core::ChannelId& channel) const;
    void remove_channel(const CallPtr& call, const core::Uaid& uaid);

    bool has_secret(const CallPtr& call, const core::Uaid& uaid) const;
    /// Router data from the call's body, for its route's type and application.
    Checked<std::string> router_data_of(const CallPtr& call, core::RouterType type,
                                        const RegistrationBody& body) const;
    std::string endpoint_url(const core::Uaid& uaid, const core::ChannelId& channel,
                             const std::optional<std::string>& key);

    /// Publishes in order; replies when all are durable and seen by the view.
    void write(const CallPtr& call, const core::Uaid& uaid, std::vector<core::Record> records,
               HttpReply reply);
    void written(const std::shared_ptr<Writes>& writes);

    ServiceShared& shared_;
    Responder& responder_;
    core::Tokens& tokens_;
    log::Publisher& publisher_;
    core::Executor& executor_;
};

}  // namespace beckon::ingest
