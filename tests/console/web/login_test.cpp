#include "console/web/login.hpp"

#include "support/manual_clock.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using beckon::console::Login;
using Answer = Login::Answer;

namespace {

const std::string kToken = "0123456789abcdef0123";
const auto kHere = *net::parse_address("192.0.2.1");
const auto kElsewhere = *net::parse_address("192.0.2.2");

}  // namespace

TEST_CASE("a session lasts its time, and only where it was given") {
    test::ManualClock clock;
    Login login{kToken, clock};
    const auto session = login.new_session();
    CHECK(session.find(kToken) == std::string::npos);
    CHECK(login.is_session(session));
    CHECK_FALSE(Login{kToken, clock}.is_session(session));  // after a restart
    clock.advance(Login::kSession - std::chrono::seconds{2});
    CHECK(login.is_session(session));
    clock.advance(std::chrono::seconds{3});
    CHECK_FALSE(login.is_session(session));
}

// Verified to fail where a session is whatever the token has signed.
TEST_CASE("a session that was ended is refused, and others are not") {
    test::ManualClock clock;
    Login login{kToken, clock};
    const auto session = login.new_session();
    const auto other = login.new_session();
    login.end_session(session);
    CHECK_FALSE(login.is_session(session));
    CHECK(login.is_session(other));
    login.end_session("none");
    CHECK(login.is_session(other));
}

TEST_CASE("a text that is nearly a session is refused") {
    test::ManualClock clock;
    Login login{kToken, clock};
    const auto session = login.new_session();
    for (const auto& text : {std::string{}, session + "0", session.substr(1), session + ";"}) {
        CHECK_FALSE(login.is_session(text));
    }
}

TEST_CASE("beyond the bound of sessions the first one ends") {
    test::ManualClock clock;
    Login login{kToken, clock};
    const auto first = login.new_session();
    clock.advance(std::chrono::seconds{1});
    const auto second = login.new_session();
    clock.advance(std::chrono::seconds{1});
    for (std::size_t i = 2; i < Login::kSessionsMax; ++i) login.new_session();
    CHECK(login.is_session(first));
    login.new_session();
    CHECK_FALSE(login.is_session(first));
    CHECK(login.is_session(second));
}

TEST_CASE("a confirmation is for one order, one session and a short time") {
    test::ManualClock clock;
    Login login{kToken, clock};
    const Login::Shown plan{.session = "me", .act = "paint", .order = "it red"};
    const auto text = login.confirmation(plan);
    for (const auto* session : {"", "you", "we"}) {
        CHECK_FALSE(login.confirmed(session, "paint", text));
    }
    CHECK_FALSE(login.confirmed("me", "burn", text));
    for (const auto& other : {std::string{}, text + "x", std::string(text.size(), '0')}) {
        CHECK_FALSE(login.confirmed("me", "paint", other));
    }
    CHECK(login.confirmed("me", "paint", text) == "it red");
    CHECK_FALSE(login.confirmed("me", "paint", text));  // it is executed once
    const auto late = login.confirmation(plan);
    clock.advance(Login::kConfirmation + std::chrono::seconds{1});
    CHECK_FALSE(login.confirmed("me", "paint", late));
}

TEST_CASE("of too many plans the oldest cannot be confirmed any more") {
    test::ManualClock clock;
    Login login{kToken, clock};
    const Login::Shown plan{.session = "me", .act = "paint", .order = "it red"};
    const auto first = login.confirmation(plan);
    clock.advance(std::chrono::milliseconds{1});
    const auto second = login.confirmation(plan);
    for (std::size_t i = 1; i < Login::kPlansMax; ++i) login.confirmation(plan);
    CHECK_FALSE(login.confirmed("me", "paint", first));
    CHECK(login.confirmed("me", "paint", second));
}

// Verified to fail where all addresses share one limit, which anybody can fill for everybody.
TEST_CASE("wrong tokens are counted by address, and never the right one") {
    test::ManualClock clock;
    Login login{kToken, clock};
    for (std::size_t i = 0; i < Login::kWrongMax; ++i) {
        CHECK(login.try_token("no", kHere) == Answer::wrong);
    }
    CHECK(login.try_token("no", kHere) == Answer::too_often);
    CHECK(login.try_token("no", kElsewhere) == Answer::wrong);
    CHECK(login.try_token(kToken, kHere) == Answer::good);
    CHECK(login.try_token(kToken, kElsewhere) == Answer::good);
    CHECK(login.try_token("no", kHere) == Answer::too_often);  // the right one frees nothing
    clock.advance(std::chrono::seconds{61});
    CHECK(login.try_token("no", kHere) == Answer::wrong);
}

TEST_CASE("a token with more behind it is wrong") {
    test::ManualClock clock;
    Login login{kToken, clock};
    for (const auto& more : {std::string(1, '\0'), std::string(60, '\0'), std::string{" "}}) {
        CHECK(login.try_token(kToken + more, kHere) == Answer::wrong);
    }
}

TEST_CASE("all addresses of an IPv6 host count as one") {
    test::ManualClock clock;
    Login login{kToken, clock};
    for (std::size_t i = 0; i < Login::kWrongMax; ++i) {
        login.try_token("no", *net::parse_address("2001:db8::" + std::to_string(i)));
    }
    CHECK(login.try_token("no", *net::parse_address("2001:db8::ffff")) == Answer::too_often);
    CHECK(login.try_token("no", *net::parse_address("2001:db8:0:1::1")) == Answer::wrong);
}

TEST_CASE("without a token no text is accepted as one") {
    test::ManualClock clock;
    Login login{"", clock};
    CHECK_FALSE(login.needed());
    CHECK(login.try_token("", kHere) == Answer::wrong);
    CHECK_FALSE(login.confirmed("", "paint",
                                login.confirmation({.session = {}, .act = "paint", .order = {}})));
}
