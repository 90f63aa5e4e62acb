#pragma once

namespace beckon::store {

class Database;

/// For copy_open_store(). A Database lists itself when it is open and before it closes.
void list_open(const Database& database);
void unlist(const Database& database);

}  // namespace beckon::store
