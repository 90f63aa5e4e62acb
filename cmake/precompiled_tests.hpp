#pragma once

/// Headers that most tests include; the compiler reads them once for all. See precompiled.hpp.

#include "precompiled.hpp"

#include <catch2/catch.hpp>
