#include "console/web/web_handler.hpp"

#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon::console;
using Catch::Contains;

namespace {

const std::string kDocument =
    "<html data-session=\"\"><style>abc</style><script type=\"module\">abc</script>";
/// Of "abc" (FIPS 180-2, B.1), in base64.
const std::string kHash = "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='";

}  // namespace

TEST_CASE("the policy lets this script and this style run and nothing else") {
    const AppPage page{kDocument};
    CHECK_THAT(page.policy(), Contains("script-src " + kHash + ";"));
    CHECK_THAT(page.policy(), Contains("style-src " + kHash + ";"));
    CHECK_THAT(page.policy(), !Contains("unsafe") && !Contains("http"));
}

TEST_CASE("a document for each session, each with a tag of its own") {
    const AppPage page{kDocument};
    const auto& in = page.of(Session::in);
    CHECK_THAT(in.bytes, Contains("<html data-session=\"in\"><style>abc</style>"));
    CHECK_THAT(page.of(Session::out).bytes, Contains("data-session=\"out\""));
    CHECK_THAT(page.of(Session::open).bytes, Contains("data-session=\"open\""));
    CHECK(in.etag != page.of(Session::out).etag);
    CHECK_THAT(in.etag, Catch::Matchers::Matches("\"[A-Za-z0-9_-]{16}\""));
}

TEST_CASE("a document without its parts is refused by their names") {
    CHECK_THROWS_WITH(AppPage{"<html data-session=\"\"><style>abc</style>"},
                      Contains("<script type=\"module\">"));
    CHECK_THROWS_WITH(AppPage{"<style>abc</style><script type=\"module\">abc</script>"},
                      Contains("data-session"));
}

TEST_CASE("the app in the binary loads nothing from elsewhere") {
    const std::string document{app_document()};
    CHECK_THAT(document, !Contains("src=\"/") && !Contains("href=\"/") && !Contains("\nimport "));
    CHECK_NOTHROW(AppPage{document});
}
