// The parts of Asio and Beast that are no templates, compiled once for all users of the two (Boost documents both macros
// as "separate compilation"): otherwise each user would compile an event loop and an HTTP parser of its own.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
