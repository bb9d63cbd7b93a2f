#include "base/config_reader.h"
