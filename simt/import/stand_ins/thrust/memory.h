// Stands in for Thrust's header of this name.
#pragma once

#include "device_ptr.h"
