// Stands in for CUDA's header of this name, of which curand.h wants a type.
#pragma once

typedef enum libraryPropertyType_t { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL } libraryPropertyType;
