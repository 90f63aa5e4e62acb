#pragma once

#include <string>

/// The pages of the role `reliability`, made readable for people. Pure.
namespace beckon::tools {

std::string counts_text(const std::string& page);
std::string flow_text(const std::string& page);
std::string history_text(const std::string& page);
/// The message of an error page; the text itself if it is none.
std::string error_text(const std::string& page);
/// The newest day of the list of days that have a report; "" if there is none.
std::string last_day_text(const std::string& page);

}  // namespace beckon::tools
