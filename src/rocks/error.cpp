#include "rocks/error.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace beckon::rocks {

using core::Fault;

bool is_in_use(const rocksdb::Status& status) {
    // RocksDB has no code of its own for a LOCK file that is held.
    const std::string text = status.ToString();
    return status.IsIOError() && text.find("LOCK") != std::string::npos &&
           (text.find("lock hold by current process") != std::string::npos ||
            text.find("Resource temporarily unavailable") != std::string::npos);
}

core::Error to_error(const rocksdb::Status& status, std::string_view what) {
    std::string message{what};
    if (is_in_use(status)) return {Fault::conflict, message + ": in use by another process"};
    if (const auto text = status.ToString(); text.ends_with(std::strerror(EMFILE))) {
        return {Fault::unavailable,
                message + ": the process has as many files open as it may (ulimit -n)"};
    }
    message += ": " + status.ToString();
    if (status.IsNoSpace()) return {Fault::full, std::move(message)};
    if (status.IsCorruption()) return {Fault::corrupt, std::move(message)};
    if (status.IsNotFound()) return {Fault::not_found, std::move(message)};
    return {Fault::unavailable, std::move(message)};
}

}  // namespace beckon::rocks
