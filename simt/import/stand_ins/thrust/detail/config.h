// Used if no toolkit has Thrust's headers. Its name says that algorithms of Thrust run on the host.
#pragma once

#define SIMT_THRUST_STANDS_IN 1
#define THRUST_NAMESPACE_BEGIN namespace thrust {
#define THRUST_NAMESPACE_END }
#define THRUST_VERSION 200800
#define THRUST_MAJOR_VERSION 2
#define THRUST_MINOR_VERSION 8
