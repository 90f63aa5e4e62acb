#pragma once

#include "net/http/http_message.hpp"

#include <string_view>

/// The OpenAPI documents of schemas/, which stand in the binary: each port that has one serves it,
/// so that a client is made for the build that answers. Any thread.
namespace beckon::net {

/// Where every port serves its own, to everybody who may reach the port.
inline constexpr std::string_view kApiDocumentPath = "/openapi.yaml";

std::string_view endpoint_api_document();
std::string_view webhooks_api_document();
std::string_view console_api_document();

HttpReply api_document_reply(std::string_view document);

}  // namespace beckon::net
