// Stands in for PyTorch's header of this name: see simt/import/torch/tensor.hpp.
#pragma once
#include "simt/import/torch/tensor.hpp"
