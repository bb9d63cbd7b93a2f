#include "io/sqlite.h"
