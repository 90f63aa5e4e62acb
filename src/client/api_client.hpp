#pragma once

#include "core/result.hpp"
#include "fetch/transfer.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace beckon::client {

/// An answer of a process of Beckon.
struct ApiAnswer {
    int status = 0;
    std::string body;
    bool good() const { return status >= 200 && status < 300; }
};

/// Asks the API for webhooks and events, or an ops port, over a connection that is kept. Blocks;
/// one thread.
class ApiClient {
public:
    struct Options {
        std::string origin;      ///< http://127.0.0.1:8084
        std::string token = {};  ///< of the owner, or the proof of the key ring; empty: none
        std::string ca_file = {};
        bool insecure = false;
        std::chrono::milliseconds timeout{30'000};
        /// A role that is just starting is asked again for so long.
        std::chrono::milliseconds patience{15'000};
    };
    explicit ApiClient(Options options) : options_(std::move(options)) {}

    struct Query {
        std::string method = "GET";
        std::string path;
        std::string body = {};
        std::string content_type = "application/json";
    };
    /// Errors: unavailable, timed_out (no server answered), too_large (an answer over 64 MiB).
    core::Result<ApiAnswer> ask(const Query& query);

private:
    core::Result<ApiAnswer> ask_once(const Query& query);

    Options options_;
    fetch::Easy handle_ = fetch::make_easy();
};

}  // namespace beckon::client
