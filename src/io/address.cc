#include "io/address.h"
