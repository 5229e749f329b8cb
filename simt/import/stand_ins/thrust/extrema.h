// Stands in for Thrust's header of this name.
#pragma once

#include "algorithms.hpp"
