#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace beckon::console {

/// The files of src/console/app as one document, which CMake puts into the binary.
std::string_view app_document();

/// The caller's right to see the pages: no login is needed, it is logged in, or it is not.
enum class Session : std::uint8_t { open, in, out };

/// The document at `/`: the app, with the state of the browser's session, and a content security
/// policy that allows this one script and style and no other. Immutable.
class AppPage {
public:
    struct Document {
        std::string bytes;
        std::string etag;  ///< with its quotes
    };

    /// Throws std::runtime_error if the document is not one of the app.
    explicit AppPage(std::string_view document);

    const Document& of(Session session) const {
        return documents_[static_cast<std::size_t>(session)];
    }
    /// For the header Content-Security-Policy.
    const std::string& policy() const { return policy_; }

private:
    std::array<Document, 3> documents_;
    std::string policy_;
};

}  // namespace beckon::console
