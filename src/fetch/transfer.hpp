#pragma once

#include "core/handle.hpp"
#include "core/result.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

#include <curl/curl.h>

/// A request over libcurl's easy interface, with a bound on its answer, and errors as core::Error.
/// It blocks; a handle is used by one thread at a time.
namespace beckon::fetch {

using Easy = core::Handle<CURL, curl_easy_cleanup>;
Easy make_easy();

/// The lines of a request's header. Outlives the transfer.
class HeaderLines {
public:
    /// "Name: value"; "Name:" leaves out libcurl's own value.
    void add(const std::string& line);
    curl_slist* get() const { return lines_.get(); }

private:
    core::Handle<curl_slist, curl_slist_free_all> lines_;
};

/// The servers that a transfer trusts.
struct Trust {
    bool insecure = false;               ///< take any certificate
    std::filesystem::path ca_file = {};  ///< PEM; empty: the system's
};

/// One request. The constructor sets the options that all our requests share; the owner sets the
/// others on `easy`.
class Transfer {
public:
    struct Options {
        std::string url;  ///< http or https; others are refused
        std::chrono::milliseconds timeout{};
        std::size_t body_bytes_max = 0;  ///< of the answer
    };
    /// No proxy of the environment and no signals. `easy` outlives this.
    Transfer(CURL* easy, const Options& options);
    ~Transfer();
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    void trust(const Trust& trust);
    void headers(const HeaderLines& lines);

    struct Answer {
        int status = 0;
        std::string body;
    };
    /// Sends the request and waits. Errors: too_large (the answer is longer than allowed),
    /// timed_out, unavailable (no server answered; the text has the reason).
    core::Result<Answer> perform();

private:
    static std::size_t on_body(char* data, std::size_t size, std::size_t count,
                               void* user) noexcept;
    core::Error error_of(CURLcode outcome) const;

    CURL* const easy_;
    const std::size_t body_bytes_max_;
    Answer answer_;
    bool too_long_ = false;
    std::string why_;  ///< libcurl writes the reason here
};

}  // namespace beckon::fetch
