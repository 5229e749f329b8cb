// Stands in for CUDA's header of this name: see cooperative_groups.h.
#pragma once
#include "../cooperative_groups.h"
