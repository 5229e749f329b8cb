// Of PyTorch, for sources that include it: see simt/import/torch/tensor.hpp.
#pragma once
#include "simt/import/torch/tensor.hpp"
