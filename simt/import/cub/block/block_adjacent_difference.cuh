// Stands in for CUB's header of this name.
#include "../cub.cuh"
