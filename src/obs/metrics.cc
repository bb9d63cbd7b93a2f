#include "obs/metrics.h"
