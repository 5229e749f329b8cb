// Stands in for cuBLAS's header of this name: see cublas_v2.h.
#pragma once
#include "cublas_v2.h"
