#include "io/http_client.h"
