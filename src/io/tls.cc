#include "io/tls.h"
