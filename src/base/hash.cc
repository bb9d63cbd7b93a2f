#include "base/hash.h"
