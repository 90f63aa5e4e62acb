#pragma once

namespace beckon::core {

/// One visitor of several functions, for std::visit.
template <class... Fs>
struct Overloaded : Fs... {
    using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace beckon::core
