#include "io/http_parser.h"
