// Preloaded by alerts.mjs: a thread that has once had memory for a text of BODY_BYTES bytes has
// none for a copy of it, alone or in a record; as where a limit of the process's memory is reached
// at that moment.
#include <cstddef>
#include <cstdlib>
#include <new>

#include <dlfcn.h>

namespace {

constexpr std::size_t kAroundCopy = 1024;  // of a record

std::size_t text_bytes() {
    const char* bytes = std::getenv("BODY_BYTES");
    return bytes ? std::strtoul(bytes, nullptr, 10) + 1 : 0;
}

}  // namespace

void* operator new(std::size_t size) {
    static const auto text = text_bytes();
    static const auto real = reinterpret_cast<void* (*)(std::size_t)>(::dlsym(RTLD_NEXT, "_Znwm"));
    static thread_local bool has_text = false;
    if (text > 0 && size >= text && size < text + kAroundCopy) {
        if (has_text) throw std::bad_alloc{};
        has_text = size == text;
    }
    return real(size);
}
