// Barriers in conditional code, each in a mode of its own. The first half are mistakes: threads skip the barrier.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_runtime.h>
#include <cub/block/block_reduce.cuh>

#include <cstring>

namespace cg = cooperative_groups;

constexpr int k_threads = 64;
#define MEET_IF(c) \
  if (c) __syncthreads()

__device__ void meet() {
  __syncthreads();  // meet
}
__device__ void meet_later() { meet(); }

__global__ void branch(int* y, int n) {
  for (int b = 0; b < 4; ++b) {
    const int i = k_threads * b + threadIdx.x;
    if (i < n) {  // branch-condition
      y[threadIdx.x] += i;
      __syncthreads();  // branch
    }
  }
}

__global__ void second(int* y, int n) {
  if (threadIdx.x >= n) {  // second-condition
    y[threadIdx.x] = 1;
  } else {
    __syncthreads();  // second
  }
}

__global__ void chain(int* y, int n) {
  if (threadIdx.x < 8) {  // chain-condition
    y[threadIdx.x] = 1;
  } else if (n > 0)
    __syncthreads();  // chain
  else
    y[threadIdx.x] = 2;
}

__global__ void function(int* y, int n) {
  if (threadIdx.x < n)  // function-condition
    meet_later();
  y[threadIdx.x] = 1;
}

__global__ void group(int* y, int n) {
  const cg::thread_block all = cg::this_thread_block();
  if (const bool is_mine = threadIdx.x < n; true) {
    if (is_mine && y != nullptr) {  // group-condition
      cg::sync(all);                // group
    }
  }
}

__global__ void wait_of_group(int* y, int n) {
  auto all = cg::this_thread_block();
  if (threadIdx.x < n)       // wait-condition
    cg::wait_prior<1>(all);  // wait
}

__global__ void lambda(int* y, int n) {
  const auto meets = [&](int i) -> void { __syncthreads(), y[i] = 1; };  // lambda
  if (threadIdx.x < n) meets(threadIdx.x);                               // lambda-condition
}

template <class Sum>
__device__ int sum_of(int value) {
  __shared__ typename Sum::TempStorage storage;
  return Sum(storage).Sum(value);  // cub
}
__global__ void collective(int* y, int n) {
  if (threadIdx.x < n) y[0] = sum_of<cub::BlockReduce<int, k_threads>>(1);  // cub-condition
}

template <class T>
__global__ void macro(T* y, T n) {
  auto lambda = [&](T least) { MEET_IF(T(threadIdx.x) < least); };  // macro
  lambda(n);
}

__global__ void loop(int* y, int n) {
#pragma unroll 2
  for (int i = threadIdx.x; i < n; i += k_threads)  // loop-condition
    __syncthreads();                                // loop
}

__global__ void tail(int* y, int n) {
  int i = threadIdx.x;
  do {  // tail-condition
    if (n == 0) continue;
    __syncthreads();  // tail
  } while ((i += k_threads) < n);
}

__global__ void race(int* y, int n) {
  if (threadIdx.x < n) meet();
  y[0] += 1;  // race
}

// ---- correct ones

__global__ void early_return(int* y, int n) {
  if (threadIdx.x >= n) return;
  if (n > 0) __syncthreads();
  for (int i = 0; i < 4; ++i) {
    if (i == 2 && threadIdx.x > 7) return;
    if (i == 2) __syncthreads();
    if (i == 3) __syncthreads();
  }
  y[threadIdx.x] = 1;
}

__global__ void return_of_branch(int* y, int n) {
  if (threadIdx.x < n) {
    __syncthreads();
    if (threadIdx.x > 7) return;
    __syncthreads();
    y[threadIdx.x] = 1;
  } else {
    y[threadIdx.x] = 2;
    return;
  }
}

__global__ void uniform(int* y, int n) {
  for (int i = 0; i < n; ++i) {
    if (i % 2 == 1) __syncthreads();
    while (i > 100) __syncthreads();
    if (blockIdx.x == 0) {
      __syncthreads();
    } else {
      y[threadIdx.x] = i;
    }
  }
}

__global__ void specialised(int* y, int n) {
  __shared__ int s[k_threads];
  if (threadIdx.x / 32 == 0) {
    for (int i = 0; i < n % 7; ++i) {
      asm volatile("bar.sync 1, 64;");
      s[threadIdx.x] = i;
      asm volatile("bar.arrive 2, 64;");
    }
  } else {
    for (int i = 0; i < n % 7; ++i) {
      asm volatile("bar.arrive 1, 64;");
      asm volatile("bar.sync 2, 64;");
      y[threadIdx.x] = s[threadIdx.x - 32];
    }
    if (n < 0) __syncthreads();
  }
}

// As in CUB, every thread of the block takes part, or has left.
__global__ void collectives(int* y, int n) {
  using sums = cub::BlockReduce<int, k_threads>;
  using sums_of_warps = cub::WarpReduce<int>;
  __shared__ union {
    sums::TempStorage block;
    sums_of_warps::TempStorage warps[k_threads / 32];
  } storage;
  const auto meets = [] { __syncthreads(); };
  if (threadIdx.x < 32) y[threadIdx.x] = sums_of_warps(storage.warps[threadIdx.x / 32]).Sum(n);
  if (n > 0) {
    meets();
    const int sum = sums(storage.block).Sum(n);
    if (threadIdx.x == 0) y[0] += sum;
  }
}

__global__ void both_meet(int* y, int n) {
  if (threadIdx.x < n) {
    y[threadIdx.x] = 1;
    meet();
  } else {
    meet();
  }
  if (threadIdx.x < n)
    asm volatile("bar.sync 0;");
  else
    asm volatile("barrier.sync 0;");
}

// Some threads take the branch in an earlier turn of the loop than others, but none skips the barrier.
__global__ void turns(int* y, int n) {
  for (int i = threadIdx.x % 4; i < 4; ++i) {
    if (i == 3) {
      __syncthreads();
      break;
    }
    y[threadIdx.x] = i;
  }
  for (int i = 0; i < (int)threadIdx.x; ++i)
    if (n < 0) __syncthreads();
  if (threadIdx.x > 7) return;
  __syncthreads();
}

__device__ constexpr int sign(int n) {
  if (n < 0) return -1;
  return 1;
}

// The branches that the importer leaves as they are, among others.
__global__ void forms(int* y, int n) {
  int k = 0;
  if (int turns = n) __syncthreads(), k += turns;
  if constexpr (sizeof(n) == 4) __syncthreads();
  if ((k = n)) __syncthreads();
  if (n) [[likely]] {
    switch (k) {
      default: __syncthreads();
    }
  }
  switch (n) {
    case 0:
      if (k > 0) {
        case 1: __syncthreads();
      }
      break;
    default:
      for (int t : {1, 2}) __syncthreads(), k += t;
      do __syncthreads();
      while (k == 0 || __syncthreads_or(k) == 0);
  }
  y[threadIdx.x] = __syncthreads_count(k <= sign(n));
}

__global__ void jump(int* y, int n) {
  if (n > 0) goto end;
  if (n < 0) {
    __syncthreads();
  end:
    __syncthreads();
  }
  y[threadIdx.x] = 1;
}

int main(int, char** arguments) {
  int* y;
  cudaMalloc(&y, k_threads * sizeof(int));
  cudaMemset(y, 0, k_threads * sizeof(int));
  const auto is = [mode = arguments[1]](const char* name) { return strcmp(mode, name) == 0; };
  if (is("branch")) branch<<<1, k_threads>>>(y, 4 * k_threads - 16);
  if (is("second")) second<<<1, k_threads>>>(y, 63);
  if (is("chain")) chain<<<1, k_threads>>>(y, 1);
  if (is("function")) function<<<1, k_threads>>>(y, 32);
  if (is("group")) group<<<1, k_threads>>>(y, 32);
  if (is("wait")) wait_of_group<<<1, k_threads>>>(y, 32);
  if (is("lambda")) lambda<<<1, k_threads>>>(y, 63);
  if (is("cub")) collective<<<1, k_threads>>>(y, 32);
  if (is("macro")) macro<<<1, k_threads>>>(y, 62);
  if (is("loop")) loop<<<1, k_threads>>>(y, 3 * k_threads - 1);
  if (is("tail")) tail<<<1, k_threads>>>(y, 3 * k_threads - 1);
  if (is("race")) race<<<1, k_threads>>>(y, 32);
  if (is("early-return")) early_return<<<1, k_threads>>>(y, 32);
  if (is("return-of-branch")) return_of_branch<<<1, k_threads>>>(y, 32);
  if (is("uniform")) uniform<<<2, k_threads>>>(y, 5);
  if (is("specialised")) specialised<<<1, k_threads>>>(y, 5);
  if (is("collectives")) collectives<<<1, k_threads>>>(y, 5);
  if (is("both-meet")) both_meet<<<1, k_threads>>>(y, 24);
  if (is("turns")) turns<<<1, k_threads>>>(y, 1);
  if (is("forms")) forms<<<1, k_threads>>>(y, 3);
  if (is("jump")) jump<<<1, k_threads>>>(y, 3);
  cudaDeviceSynchronize();
  cudaFree(y);
  return 0;
}
