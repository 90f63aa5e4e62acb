#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace beckon::console {

struct ConsoleConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8085;  ///< 0: any free one
    /// Holds the token to log in with. None: everybody who reaches the port is admitted.
    std::optional<std::filesystem::path> token_file = std::nullopt;
    std::vector<std::string> canary = {};  ///< as canary_targets() has them
    std::vector<std::string> retry_urls =
        {};  ///< origins of the API of each process with that role
};

}  // namespace beckon::console
