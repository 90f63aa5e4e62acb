#pragma once

#include <memory>

namespace beckon::core {

/// Calls a C library's own function, such as EVP_PKEY_free.
template <auto Free>
struct FreeWith {
    template <class T>
    void operator()(T* p) const noexcept {
        Free(p);
    }
};

/// Owns an object of a C library: `Handle<EVP_PKEY, EVP_PKEY_free>`.
template <class T, auto Free>
using Handle = std::unique_ptr<T, FreeWith<Free>>;

}  // namespace beckon::core
