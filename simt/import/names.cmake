# Headers under whose names programs know another header: names of CUDA's parts that cuda_runtime.h has, of CUB's and
# Thrust's headers, of libcu++'s in cuda/std, of PyTorch's, and of NVTX's before version 3. In the folder of names
# simt/import/NAME includes the header that is named first; an installation has both in one folder.
set(SIMT_IMPORT_NAMES ${PROJECT_BINARY_DIR}/names)

function(forward header)
  foreach(name IN LISTS ARGN)
    file(CONFIGURE OUTPUT ${SIMT_IMPORT_NAMES}/simt/import/${name} @ONLY
      CONTENT "// Stands in for the header of this name -*- C++ -*-\n#pragma once\n#include \"${header}\"\n")
  endforeach()
endfunction()

forward(simt/import/torch/tensor.hpp ATen/ATen.h ATen/cuda/CUDAContext.h c10/cuda/CUDAException.h c10/cuda/CUDAGuard.h
  c10/cuda/CUDAStream.h torch/extension.h torch/torch.h torch/types.h)
forward(simt/import/cuda_runtime.h builtin_types.h channel_descriptor.h common_functions.h cuda_device_runtime_api.h
  device_atomic_functions.h device_functions.h device_launch_parameters.h driver_functions.h driver_types.h
  host_defines.h math_functions.h sm_20_atomic_functions.h sm_20_intrinsics.h sm_30_intrinsics.h
  sm_32_atomic_functions.h sm_32_intrinsics.h sm_35_atomic_functions.h sm_35_intrinsics.h sm_60_atomic_functions.h
  sm_61_intrinsics.h surface_types.h texture_types.h vector_functions.h vector_types.h)
forward(simt/import/cooperative_groups/reduce.h cooperative_groups/details/reduce.h)
forward(simt/import/cooperative_groups/scan.h cooperative_groups/details/scan.h)
forward(simt/import/cub/cub.cuh cub/block/block_adjacent_difference.cuh cub/block/block_exchange.cuh
  cub/block/block_load.cuh cub/block/block_radix_sort.cuh cub/block/block_reduce.cuh cub/block/block_scan.cuh
  cub/block/block_store.cuh cub/device/device_histogram.cuh cub/device/device_merge_sort.cuh
  cub/device/device_partition.cuh cub/device/device_radix_sort.cuh cub/device/device_reduce.cuh
  cub/device/device_run_length_encode.cuh cub/device/device_scan.cuh cub/device/device_segmented_radix_sort.cuh
  cub/device/device_segmented_reduce.cuh cub/device/device_segmented_sort.cuh cub/device/device_select.cuh
  cub/iterator/arg_index_input_iterator.cuh cub/iterator/constant_input_iterator.cuh
  cub/iterator/counting_input_iterator.cuh cub/iterator/transform_input_iterator.cuh cub/config.cuh
  cub/util_allocator.cuh cub/util_debug.cuh cub/util_device.cuh cub/util_macro.cuh cub/util_type.cuh cub/version.cuh
  cub/warp/warp_exchange.cuh cub/warp/warp_reduce.cuh cub/warp/warp_scan.cuh)
forward(simt/import/cublas_v2.h cublas_api.h)
forward(simt/import/cuda/atomic cuda/std/atomic)
forward(simt/import/cuda/barrier cuda/std/barrier)
forward(simt/import/cuda/latch cuda/std/latch)
forward(simt/import/cuda/semaphore cuda/std/semaphore)
forward(simt/import/cuda_awbarrier_primitives.h cuda_awbarrier.h)
forward(simt/import/cuda_bf16.h cuda_bf16.hpp)
forward(simt/import/cuda_fp16.h cuda_fp16.hpp)
forward(simt/import/cuda_fp8.h cuda_fp8.hpp)
forward(simt/import/cuda_pipeline.h cuda_pipeline_primitives.h)
forward(nvtx3/nvToolsExt.h samples/nvToolsExt.h)
forward(nvtx3/nvToolsExtCuda.h samples/nvToolsExtCuda.h)
forward(nvtx3/nvToolsExtCudaRt.h samples/nvToolsExtCudaRt.h)
forward(simt/import/stand_ins/thrust/algorithms.hpp stand_ins/thrust/adjacent_difference.h
  stand_ins/thrust/binary_search.h stand_ins/thrust/copy.h stand_ins/thrust/count.h stand_ins/thrust/equal.h
  stand_ins/thrust/extrema.h stand_ins/thrust/fill.h stand_ins/thrust/find.h stand_ins/thrust/for_each.h
  stand_ins/thrust/gather.h stand_ins/thrust/generate.h stand_ins/thrust/inner_product.h stand_ins/thrust/logical.h
  stand_ins/thrust/merge.h stand_ins/thrust/partition.h stand_ins/thrust/reduce.h stand_ins/thrust/remove.h
  stand_ins/thrust/replace.h stand_ins/thrust/reverse.h stand_ins/thrust/scan.h stand_ins/thrust/scatter.h
  stand_ins/thrust/sequence.h stand_ins/thrust/sort.h stand_ins/thrust/tabulate.h stand_ins/thrust/transform.h
  stand_ins/thrust/transform_reduce.h stand_ins/thrust/unique.h)
forward(simt/import/stand_ins/thrust/iterator/iterators.hpp stand_ins/thrust/advance.h stand_ins/thrust/distance.h
  stand_ins/thrust/iterator/constant_iterator.h stand_ins/thrust/iterator/counting_iterator.h
  stand_ins/thrust/iterator/discard_iterator.h stand_ins/thrust/iterator/iterator_traits.h
  stand_ins/thrust/iterator/permutation_iterator.h stand_ins/thrust/iterator/reverse_iterator.h
  stand_ins/thrust/iterator/transform_iterator.h stand_ins/thrust/iterator/zip_iterator.h)
forward(simt/import/stand_ins/thrust/device_ptr.h stand_ins/thrust/device_free.h stand_ins/thrust/device_malloc.h
  stand_ins/thrust/device_reference.h stand_ins/thrust/memory.h)
forward(simt/import/stand_ins/thrust/tuple.h stand_ins/thrust/pair.h)
forward(simt/import/stand_ins/thrust/detail/config.h stand_ins/thrust/version.h)
