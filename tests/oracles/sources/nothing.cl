#include "device.h"

KERNEL void nothing(void) {}
