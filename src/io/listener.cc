#include "io/listener.h"
