#include "obs/log.h"
