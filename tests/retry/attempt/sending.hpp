#pragma once

#include "net/io_loop.hpp"
#include "retry/attempt/http_sender.hpp"

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace beckon::test {

inline retry::AddressGuard open_guard() {
    return *retry::AddressGuard::with_allowed({"127.0.0.1"});
}

/// Sends a request so many times, each time after the answer to the one before.
inline std::vector<retry::HttpAnswer> send_in_turn(const retry::HttpRequest& request,
                                                   std::size_t times,
                                                   retry::HttpSender::Options options = {
                                                       .guard = open_guard()}) {
    net::IoLoop loop;
    retry::HttpSender sender{std::move(options), loop};
    std::vector<retry::HttpAnswer> answers;
    const std::function<void()> one = [&] {
        sender.send(request, [&](retry::HttpAnswer answer) {
            answers.push_back(std::move(answer));
            answers.size() < times ? one() : loop.stop();
        });
    };
    loop.post(one);
    loop.run("retry");
    CHECK(sender.under_way() == 0);
    return answers;
}

inline retry::HttpAnswer send(const retry::HttpRequest& request,
                              retry::HttpSender::Options options = {.guard = open_guard()}) {
    return send_in_turn(request, 1, std::move(options)).front();
}

}  // namespace beckon::test
