#pragma once

#include <cstddef>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

/// Dumps of autopush's user table as lines for `beckon subscriptions import`.
/// docs/coming-from-autopush.md has the commands that make them.
namespace beckon::tools {

enum class DumpForm {
    /// One JSON object in a line: {"user": the value of autopush/user/<uaid>, "channels": the list
    /// autopush/channels/<uaid>, "co": the value of autopush/co/<uaid>}; a value may be its text.
    /// A `user` of null has expired meanwhile.
    redis,
    /// The output of `cbt read`: a row key in a line, and below it for each cell a line
    /// `family:column @ time` and a line with its value as Go quotes it.
    bigtable,
};

struct ConvertedDump {
    std::size_t clients = 0;
    std::size_t others = 0;  ///< rows of messages, and users that have expired
};

/// Calls `client` with a line for each client, and `refused` with the place and the reason where
/// there is none. Reads a row at a time.
ConvertedDump convert_dump(DumpForm form, std::istream& in,
                           const std::function<void(const std::string&)>& client,
                           const std::function<void(const std::string&)>& refused);

/// Text as Go's %q writes it, with its quotes, as bytes; nullopt: it is not of that form.
std::optional<std::string> unquoted(std::string_view text);

/// `beckon subscriptions convert`: prints the lines; kFailed if something was refused. Throws
/// StartupError: the file cannot be read.
int subscriptions_convert(const std::string& form, const std::string& file);

}  // namespace beckon::tools
