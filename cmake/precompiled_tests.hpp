#pragma once

/// What most tests include, read by the compiler once for all; see precompiled.hpp.

#include "precompiled.hpp"

#include <catch2/catch.hpp>
