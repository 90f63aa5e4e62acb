#pragma once

#include "tools/webhooks/webhooks_tool.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace beckon::tools {

/// A receiver of webhooks on loopback that checks the signature of each request (Standard
/// Webhooks).
class WebhookReceiver {
public:
    struct Received {
        std::string id;        ///< `webhook-id`
        std::string body;      ///< the event
        std::string distrust;  ///< why it is not to be believed; empty: it is
    };
    /// The status that a request is answered with; called on the receiver's thread.
    using Answer = std::function<int(const Received&)>;

    /// Listens on 127.0.0.1; port 0: any free one. Throws std::runtime_error: the port is taken.
    WebhookReceiver(std::uint16_t port, Answer answer);
    ~WebhookReceiver();
    WebhookReceiver(const WebhookReceiver&) = delete;
    WebhookReceiver& operator=(const WebhookReceiver&) = delete;

    const std::string& url() const;
    /// Begins to answer. Throws StartupError: no secret of Standard Webhooks.
    void start(const std::string& secret);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// A webhook that is there as long as this is.
class OwnWebhook {
public:
    /// Throws StartupError; the API's answer has been printed.
    OwnWebhook(client::ApiClient& api, const CreateWebhook& wanted);
    ~OwnWebhook();
    OwnWebhook(const OwnWebhook&) = delete;
    OwnWebhook& operator=(const OwnWebhook&) = delete;

    const std::string& id() const { return id_; }
    const std::string& secret() const { return secret_; }

private:
    client::ApiClient& api_;
    std::string id_;
    std::string secret_;
};

}  // namespace beckon::tools
