#pragma once

#include "net/http/http_message.hpp"

#include <string_view>

/// The OpenAPI documents of schemas/, which the binary contains: each port with an HTTP API serves
/// its own, so that clients can be generated for the build that answers. Any thread.
namespace beckon::net {

/// The path of the document at every port, without a token.
inline constexpr std::string_view kApiDocumentPath = "/openapi.yaml";

std::string_view endpoint_api_document();
std::string_view webhooks_api_document();
std::string_view console_api_document();

HttpReply api_document_reply(std::string_view document);

}  // namespace beckon::net
