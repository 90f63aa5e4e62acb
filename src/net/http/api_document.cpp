#include "net/http/api_document.hpp"

#include <string>

namespace beckon::net {

HttpReply api_document_reply(std::string_view document) {
    auto reply = reply_of(200, "application/yaml", std::string{document});  // RFC 9512
    reply.add("Cache-Control", "no-cache");
    return reply;
}

}  // namespace beckon::net
