// Stands in for CUB's header of this name.
#include "simt/import/cub/cub.cuh"
