#include "console/web/app_page.hpp"

#include "core/base64url.hpp"
#include "core/tokens.hpp"

#include <stdexcept>
#include <utility>

namespace beckon::console {

namespace {

/// Where index.html leaves space for the session.
constexpr std::string_view kSessionPlace = "data-session=\"\"";
constexpr std::array<std::string_view, 3> kSessions{"data-session=\"open\"", "data-session=\"in\"",
                                                    "data-session=\"out\""};
constexpr std::size_t kEtagBytes = 12;

[[noreturn]] void refuse(std::string_view missing) {
    throw std::runtime_error("the console's document has no " + std::string{missing});
}

/// The text between `open` and `close`.
std::string_view between(std::string_view document, std::string_view open, std::string_view close) {
    const auto at = document.find(open);
    if (at == document.npos) refuse(open);
    const auto begin = at + open.size();
    const auto end = document.find(close, begin);
    if (end == document.npos) refuse(close);
    return document.substr(begin, end - begin);
}

std::string_view view(const core::Sha256& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// As a policy names a script or a style.
std::string source_of(std::string_view text) {
    return "'sha256-" + core::base64(view(core::sha256(text))) + "'";
}

AppPage::Document document_of(std::string_view document, std::string_view session) {
    std::string bytes{document};
    const auto at = bytes.find(kSessionPlace);
    if (at == bytes.npos) refuse(kSessionPlace);
    bytes.replace(at, kSessionPlace.size(), session);
    const auto digest = core::sha256(bytes);
    auto etag = '"' + core::base64url(view(digest).substr(0, kEtagBytes)) + '"';
    return {std::move(bytes), std::move(etag)};
}

}  // namespace

AppPage::AppPage(std::string_view document)
    : policy_("default-src 'none'; script-src " +
              source_of(between(document, "<script type=\"module\">", "</script>")) +
              "; style-src " + source_of(between(document, "<style>", "</style>")) +
              "; img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
              "frame-ancestors 'none'") {
    for (std::size_t i = 0; i < kSessions.size(); ++i) {
        documents_[i] = document_of(document, kSessions[i]);
    }
}

}  // namespace beckon::console
