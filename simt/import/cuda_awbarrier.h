// Stands in for CUDA's header of this name: see cuda_awbarrier_primitives.h.
#pragma once
#include "cuda_awbarrier_primitives.h"
