#include "io/http_server.h"
