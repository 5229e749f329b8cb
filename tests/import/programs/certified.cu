// A program (-D PROGRAM) whose copies to the host are hashed. It prints the hashes, or ends with 9 where they are not
// those of the variable HASHES, which another schedule gave.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static cudaError_t hashed_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t status = cudaMemcpy(to, from, bytes, kind);
  if (kind != cudaMemcpyDeviceToHost) return status;
  static uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, of all copies until now
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const uint8_t*>(to)[i]) * 0x100000001b3;
  char text[32];
  snprintf(text, sizeof text, "hash %016llx ", static_cast<unsigned long long>(hash));
  const char* expected = getenv("HASHES");
  if (expected == nullptr)
    printf("%s\n", text);
  else if (strstr(expected, text) == nullptr)
    exit(9);
  return status;
}

#define cudaMemcpy hashed_copy
#include PROGRAM
