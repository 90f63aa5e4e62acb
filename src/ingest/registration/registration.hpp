#pragma once

#include "ingest/service.hpp"

#include <memory>
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

/// The registration REST calls for bridged clients (docs/protocol/http-api.md#registration).
/// Everything is written to `subscriptions` and answered when the log has it and the own view has
/// passed it, so that it is usable at once. Part of a Service, on its thread.
class Registration {
public:
    explicit Registration(Service& service) : service_(service) {}

    void handle(const Service::CallPtr& call);

private:
    struct Body;
    struct Writes;
    using CallPtr = Service::CallPtr;

    void create(const CallPtr& call);
    void authorized(const CallPtr& call);
    void with_client(const CallPtr& call, const core::Uaid& uaid,
                     std::function<void(const store::StoredClient&)> then);

    void update(const CallPtr& call, const core::Uaid& uaid);
    void read(const CallPtr& call, const core::Uaid& uaid);
    void list(const CallPtr& call, const core::Uaid& uaid, const store::StoredClient& client);
    void remove(const CallPtr& call, const core::Uaid& uaid);
    void add_channel(const CallPtr& call, const core::Uaid& uaid);
    void remove_channel(const CallPtr& call, const core::Uaid& uaid);

    Checked<core::RouterType> router_type(const CallPtr& call) const;
    /// Router data as JSON text, after the checks of the bridge.
    Checked<std::string> router_data(core::RouterType type, std::string_view app_id,
                                     const Body& body) const;
    std::string endpoint_url(const core::Uaid& uaid, const core::ChannelId& channel,
                             const std::optional<std::string>& key);

    /// Publishes in order; replies when all are durable and seen by the view.
    void write(const CallPtr& call, const core::Uaid& uaid, std::vector<core::Record> records,
               HttpReply reply);
    void written(const std::shared_ptr<Writes>& writes);

    Service& service_;
};

}  // namespace beckon::ingest
