// Stands in for CUDA's header of this name: see cuda_pipeline.h.
#pragma once
#include "cuda_pipeline.h"
