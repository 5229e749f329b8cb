// The toolkit's own header of this name, with what it wants of others.
#pragma once

#include "cuda_runtime.h"
#include "library_types.h"

#include_next <curand.h>
