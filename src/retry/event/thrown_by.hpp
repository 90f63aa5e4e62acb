#pragma once

#include "core/result.hpp"

#include <exception>
#include <optional>
#include <string>

namespace beckon::retry {

/// The exception of `work` as the error with which an event ends; nullopt: it threw none.
template <class Work>
std::optional<core::Error> thrown_by(Work work) {
    const auto error = [](const char* what) {
        return core::Error{core::Fault::corrupt,
                           std::string{"it could not be fanned out: "} + what};
    };
    try {
        work();
    } catch (const std::exception& thrown) {
        return error(thrown.what());
    } catch (...) {
        return error("no std::exception");
    }
    return std::nullopt;
}

}  // namespace beckon::retry
