#include "io/http_message.h"
