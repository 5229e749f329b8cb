// The types of the toolkit's header of this name, and its host functions in plain host code: independent numbers of the
// right distribution, but not cuRAND's to the bit.
#pragma once

#include <cmath>

#include "cuda_runtime.h"
#include "library_types.h"

// Functions that write results take the line of their call as a last parameter.
#define curandGenerate simt_of_toolkit_generate
#define curandGenerateLongLong simt_of_toolkit_generate_long_long
#define curandGenerateUniform simt_of_toolkit_generate_uniform
#define curandGenerateUniformDouble simt_of_toolkit_generate_uniform_double
#define curandGenerateNormal simt_of_toolkit_generate_normal
#define curandGenerateNormalDouble simt_of_toolkit_generate_normal_double
#define curandGenerateLogNormal simt_of_toolkit_generate_log_normal
#define curandGenerateLogNormalDouble simt_of_toolkit_generate_log_normal_double
#define curandGeneratePoisson simt_of_toolkit_generate_poisson
#define curandSetQuasiRandomGeneratorDimensions simt_of_toolkit_set_dimensions
#include_next <curand.h>
#undef curandGenerate
#undef curandGenerateLongLong
#undef curandGenerateUniform
#undef curandGenerateUniformDouble
#undef curandGenerateNormal
#undef curandGenerateNormalDouble
#undef curandGenerateLogNormal
#undef curandGenerateLogNormalDouble
#undef curandGeneratePoisson
#undef curandSetQuasiRandomGeneratorDimensions

struct curandGenerator_st {
  curandRngType_t type;
  bool of_host;
  unsigned long long seed = 0, position = 0;
  cudaStream_t stream = nullptr;
};

namespace simt::import::rand {

inline bool is_pseudo(curandGenerator_t g) { return g->type < CURAND_RNG_QUASI_DEFAULT; }

// Returns the bits at a position of a generator's sequence: a hash, or the first dimension of Sobol's sequence.
inline uint64_t bits_at(curandGenerator_t g, uint64_t place) {
  if (!is_pseudo(g)) {
    const uint64_t gray = place ^ place >> 1;
    return __brevll(gray);
  }
  uint64_t x = place * 0x9e3779b97f4a7c15u + g->seed * 0xd1342543de82ef95u + static_cast<uint64_t>(g->type);
  for (int round = 0; round < 2; ++round) {  // splitmix64 (Steele, Lea & Flood, OOPSLA 2014), twice
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
  }
  return x;
}
// Returns a number in (0, 1].
inline double uniform(curandGenerator_t g, uint64_t place) {
  return (static_cast<double>(bits_at(g, place) >> 11) + 1) * 0x1p-53;
}
inline float uniform_float(curandGenerator_t g, uint64_t place) {
  return (static_cast<float>(bits_at(g, place) >> 40) + 1) * 0x1p-24f;
}
// Two pseudorandom numbers give two normal ones (Box & Muller, 1958); a quasirandom number is mapped by itself.
inline double normal(curandGenerator_t g, uint64_t place) {
  if (!is_pseudo(g)) return normcdfinv(std::fmin(uniform(g, place), 1 - 0x1p-53));
  const uint64_t first = place & ~uint64_t{1};
  const double radius = std::sqrt(-2 * std::log(uniform(g, first)));
  const double angle = 6.283185307179586477 * uniform(g, first + 1);
  return radius * (place & 1 ? std::sin(angle) : std::cos(angle));
}

// Returns how many events a process of rate 1 has during a time: the gaps between events are exponential.
inline unsigned poisson(curandGenerator_t g, uint64_t place, double time) {
  unsigned events = 0;
  while ((time += std::log(uniform(g, place += 0x100000001u))) >= 0) ++events;
  return events;
}

// Writes value(position) for the next `count` positions, in the generator's stream.
template <class T, class Value>
curandStatus_t generate(const char* function, const site& where, curandGenerator_t g, T* out, size_t count,
                        bool in_pairs, Value value) {
  if (g == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  if (in_pairs && is_pseudo(g) && count % 2 != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  if (!check_side(function, where, "the output", out, count * sizeof(T), !g->of_host, g->of_host))
    return CURAND_STATUS_LAUNCH_FAILURE;
  const uint64_t first = g->position;
  g->position += count;
  const auto work = [=] {
    ::simt::synchronize();
    for (size_t i = 0; i < count; ++i) out[i] = approximate("cuRAND", value(first + i));
    if (!g->of_host) mark_initialized(out, count * sizeof(T));
  };
  if (g->of_host)
    work();
  else
    enqueue_and_wait({"a call of cuRAND", where, on(g->stream)}, work);
  return CURAND_STATUS_SUCCESS;
}

}  // namespace simt::import::rand

inline curandStatus_t curandCreateGenerator(curandGenerator_t* g, curandRngType_t type) {
  *g = new curandGenerator_st{type, false};
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandCreateGeneratorHost(curandGenerator_t* g, curandRngType_t type) {
  *g = new curandGenerator_st{type, true};
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandDestroyGenerator(curandGenerator_t g) {
  if (g == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  delete g;
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandGetVersion(int* version) {
  *version = CURAND_VERSION;
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetStream(curandGenerator_t g, cudaStream_t stream) {
  g->stream = stream;
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t g, unsigned long long seed) {
  if (!simt::import::rand::is_pseudo(g)) return CURAND_STATUS_TYPE_ERROR;
  g->seed = seed, g->position = 0;
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetGeneratorOffset(curandGenerator_t g, unsigned long long offset) {
  g->position = offset;
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetGeneratorOrdering(curandGenerator_t, curandOrdering_t) { return CURAND_STATUS_SUCCESS; }
inline curandStatus_t curandGenerateSeeds(curandGenerator_t) { return CURAND_STATUS_SUCCESS; }
// Dimensions of Sobol's sequence beyond the first end the program.
inline curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t g, unsigned dimensions, SIMT_SITE) {
  if (simt::import::rand::is_pseudo(g)) return CURAND_STATUS_TYPE_ERROR;
  if (dimensions != 1) ::simt::import::not_modelled("a quasirandom generator of", "more than one dimension", site);
  return CURAND_STATUS_SUCCESS;
}

#define SIMT_IMPORT_CURAND(name, T, in_pairs, value)                                          \
  inline curandStatus_t curand##name(curandGenerator_t g, T* out, size_t count, SIMT_SITE) {  \
    return ::simt::import::rand::generate("curand" #name, site, g, out, count, in_pairs,      \
                                          [g](uint64_t i) { return static_cast<T>(value); }); \
  }
#define SIMT_IMPORT_CURAND_NORMAL(name, T, value)                                                                 \
  inline curandStatus_t curand##name(curandGenerator_t g, T* out, size_t count, T mean, T deviation, SIMT_SITE) { \
    return ::simt::import::rand::generate("curand" #name, site, g, out, count, true, [=](uint64_t i) {            \
      const double x = mean + deviation * ::simt::import::rand::normal(g, i);                                     \
      return static_cast<T>(value);                                                                               \
    });                                                                                                           \
  }
SIMT_IMPORT_CURAND(Generate, unsigned, false, ::simt::import::rand::bits_at(g, i) >> 32)
SIMT_IMPORT_CURAND(GenerateLongLong, unsigned long long, false, ::simt::import::rand::bits_at(g, i))
SIMT_IMPORT_CURAND(GenerateUniform, float, false, ::simt::import::rand::uniform_float(g, i))
SIMT_IMPORT_CURAND(GenerateUniformDouble, double, false, ::simt::import::rand::uniform(g, i))
SIMT_IMPORT_CURAND_NORMAL(GenerateNormal, float, x)
SIMT_IMPORT_CURAND_NORMAL(GenerateNormalDouble, double, x)
SIMT_IMPORT_CURAND_NORMAL(GenerateLogNormal, float, std::exp(x))
SIMT_IMPORT_CURAND_NORMAL(GenerateLogNormalDouble, double, std::exp(x))
#undef SIMT_IMPORT_CURAND_NORMAL
#undef SIMT_IMPORT_CURAND
inline curandStatus_t curandGeneratePoisson(curandGenerator_t g, unsigned* out, size_t count, double lambda,
                                            SIMT_SITE) {
  if (!(lambda > 0)) return CURAND_STATUS_OUT_OF_RANGE;
  return ::simt::import::rand::generate("curandGeneratePoisson", site, g, out, count, false,
                                        [=](uint64_t i) { return ::simt::import::rand::poisson(g, i, lambda); });
}
