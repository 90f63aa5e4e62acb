#pragma once

#include <string>

/// The pages of the role `reliability`, made readable for people. Pure, but for last_day_text().
namespace beckon::tools {

std::string counts_text(const std::string& page);
std::string flow_text(const std::string& page);
std::string history_text(const std::string& page);
/// The message of an error page; the text itself if it is none.
std::string error_text(const std::string& page);
/// The newest day of which a process has a report; "" if it has none.
std::string last_day_text(const std::string& ops);

}  // namespace beckon::tools
