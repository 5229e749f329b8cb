// Stands in for the toolkit's header of this name, which some programs include by its path.
#include "simt/import/cooperative_groups/scan.h"
