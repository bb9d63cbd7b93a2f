#include "base/request_context.h"
