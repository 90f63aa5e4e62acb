// What of Asio and Beast is no template, compiled once for all users of the two (Boost documents both macros as
// "separate compilation"): without it each of their users compiles an event loop and an HTTP parser of its own.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
