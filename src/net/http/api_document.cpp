#include "net/http/api_document.hpp"

#include <string>

namespace beckon::net {

HttpReply api_document_reply(std::string_view document) {
    HttpReply reply;
    reply.add("Content-Type", "application/yaml");  // RFC 9512
    reply.add("Cache-Control", "no-cache");
    reply.body = std::string{document};
    return reply;
}

}  // namespace beckon::net
