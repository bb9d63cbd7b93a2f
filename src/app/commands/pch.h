// Precompiled for the commands. Nothing may rely on it: each file still includes what it uses.
#pragma once

#include "base/pch.h"

#include <CLI/CLI.hpp>
