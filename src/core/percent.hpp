#pragma once

#include <string>
#include <string_view>

/// Percent-encoding (RFC 3986 §2.1). Pure functions, any thread.
namespace beckon::core {

/// Letters, digits and `others` stay. With the default what comes out may stand in any part of a
/// URL.
std::string percent_encoded(std::string_view text, std::string_view others = "-._~");
/// Encodes the octets that neither a path nor a query may have (RFC 3986 §3.3, §3.4). An octet that
/// is encoded already stays so.
std::string percent_completed(std::string_view text);
/// A '%' that no two hexadecimal digits follow stands for itself.
std::string percent_decoded(std::string_view text);

}  // namespace beckon::core
