#pragma once

#include "core/executor.hpp"
#include "core/tokens.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/call/responder.hpp"
#include "log/event_log.hpp"
#include "records/events.hpp"
#include "store/subscription_store.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::ingest {

struct RegistrationBody;

/// The registration REST calls for bridged clients (docs/protocol/http-api.md#registration).
/// Everything is written to `subscriptions` and answered when the log has it and the own view has
/// passed it, so that it is usable at once. Part of a Service, on its thread.
class Registration {
public:
    struct Uses {
        ServiceShared& shared;
        Responder& responder;
        core::Tokens& tokens;
        log::Publisher& publisher;
        core::Executor& executor;
    };
    explicit Registration(const Uses& uses);

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
