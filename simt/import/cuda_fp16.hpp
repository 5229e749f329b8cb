// Stands in for CUDA's header of this name: see cuda_fp16.h.
#pragma once
#include "cuda_fp16.h"
