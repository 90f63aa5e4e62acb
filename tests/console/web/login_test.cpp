#include "console/web/login.hpp"

#include "support/manual_clock.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using beckon::console::Login;
using Answer = Login::Answer;

namespace {

const std::string kToken = "0123456789abcdef0123";

}  // namespace

TEST_CASE("a session lasts its time, and only under the token that gave it", "[console]") {
    test::ManualClock clock;
    const Login login{kToken, clock};
    const auto session = login.new_session();
    CHECK(session.find(kToken) == std::string::npos);
    CHECK(login.is_session(session));
    CHECK_FALSE(Login{"another-token-of-20-bytes", clock}.is_session(session));
    clock.advance(Login::kSession - std::chrono::seconds{2});
    CHECK(login.is_session(session));
    clock.advance(std::chrono::seconds{3});
    CHECK_FALSE(login.is_session(session));
}

TEST_CASE("a session that was changed is none", "[console]") {
    test::ManualClock clock;
    const Login login{kToken, clock};
    const auto session = login.new_session();
    const auto later = std::to_string(std::stoll(session) + 1'000'000);
    CHECK_FALSE(login.is_session(later + session.substr(session.find('.'))));
    for (const auto* text : {"", ".", "9999999999", "9999999999.", "x.y", "-1."}) {
        CHECK_FALSE(login.is_session(text));
    }
}

TEST_CASE("a confirmation is of one order, one session and a short while", "[console]") {
    test::ManualClock clock;
    const Login login{kToken, clock};
    const auto text = login.confirmation("me", "paint. it red");
    CHECK(login.confirmed("me", text) == "paint. it red");
    CHECK_FALSE(login.confirmed("you", text));
    CHECK_FALSE(login.confirmed("me", text + " twice"));
    CHECK_FALSE(Login{"another-token-of-20-bytes", clock}.confirmed("me", text));
    for (const auto* other : {"", ".", "..", "9999999999", "9999999999..paint"}) {
        CHECK_FALSE(login.confirmed("me", other));
    }
    clock.advance(Login::kConfirmation + std::chrono::seconds{1});
    CHECK_FALSE(login.confirmed("me", text));
}

TEST_CASE("wrong tokens are not tried without end", "[console]") {
    test::ManualClock clock;
    Login login{kToken, clock};
    CHECK(login.try_token(kToken) == Answer::good);
    for (std::size_t i = 0; i < Login::kWrongMax; ++i) {
        CHECK(login.try_token("no") == Answer::wrong);
    }
    CHECK(login.try_token(kToken) == Answer::too_often);
    clock.advance(std::chrono::seconds{61});
    CHECK(login.try_token(kToken) == Answer::good);
}

TEST_CASE("without a token nothing is one", "[console]") {
    test::ManualClock clock;
    Login login{"", clock};
    CHECK_FALSE(login.needed());
    CHECK(login.try_token("") == Answer::wrong);
    CHECK_FALSE(login.is_session(login.new_session()));
    CHECK_FALSE(login.confirmed("", login.confirmation("", "paint")));
}
