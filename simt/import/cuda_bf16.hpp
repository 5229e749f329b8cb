// Stands in for CUDA's header of this name: see cuda_bf16.h.
#pragma once
#include "cuda_bf16.h"
