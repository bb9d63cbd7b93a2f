#include "io/client_ip.h"
