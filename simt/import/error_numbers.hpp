// The errors of the runtime API and of the driver, and their numbers: SIMT_CUDA_ERRORS(X) is X(NAME, NUMBER) for each,
// without "cuda", and SIMT_DRIVER_ERRORS(X) without "CUDA_".
#pragma once

// clang-format off
#define SIMT_CUDA_ERRORS(X) \
  X(Success, 0) X(ErrorInvalidValue, 1) X(ErrorMemoryAllocation, 2) X(ErrorInitializationError, 3) \
  X(ErrorCudartUnloading, 4) X(ErrorProfilerDisabled, 5) X(ErrorProfilerNotInitialized, 6) \
  X(ErrorProfilerAlreadyStarted, 7) X(ErrorProfilerAlreadyStopped, 8) X(ErrorInvalidConfiguration, 9) \
  X(ErrorInvalidPitchValue, 12) X(ErrorInvalidSymbol, 13) X(ErrorInvalidHostPointer, 16) \
  X(ErrorInvalidDevicePointer, 17) X(ErrorInvalidTexture, 18) X(ErrorInvalidTextureBinding, 19) \
  X(ErrorInvalidChannelDescriptor, 20) X(ErrorInvalidMemcpyDirection, 21) X(ErrorAddressOfConstant, 22) \
  X(ErrorTextureFetchFailed, 23) X(ErrorTextureNotBound, 24) X(ErrorSynchronizationError, 25) \
  X(ErrorInvalidFilterSetting, 26) X(ErrorInvalidNormSetting, 27) X(ErrorMixedDeviceExecution, 28) \
  X(ErrorNotYetImplemented, 31) X(ErrorMemoryValueTooLarge, 32) X(ErrorStubLibrary, 34) \
  X(ErrorInsufficientDriver, 35) X(ErrorCallRequiresNewerDriver, 36) X(ErrorInvalidSurface, 37) \
  X(ErrorDuplicateVariableName, 43) X(ErrorDuplicateTextureName, 44) X(ErrorDuplicateSurfaceName, 45) \
  X(ErrorDevicesUnavailable, 46) X(ErrorIncompatibleDriverContext, 49) X(ErrorMissingConfiguration, 52) \
  X(ErrorPriorLaunchFailure, 53) X(ErrorLaunchMaxDepthExceeded, 65) X(ErrorLaunchFileScopedTex, 66) \
  X(ErrorLaunchFileScopedSurf, 67) X(ErrorSyncDepthExceeded, 68) X(ErrorLaunchPendingCountExceeded, 69) \
  X(ErrorInvalidDeviceFunction, 98) X(ErrorNoDevice, 100) X(ErrorInvalidDevice, 101) \
  X(ErrorDeviceNotLicensed, 102) X(ErrorSoftwareValidityNotEstablished, 103) X(ErrorStartupFailure, 127) \
  X(ErrorInvalidKernelImage, 200) X(ErrorDeviceUninitialized, 201) X(ErrorMapBufferObjectFailed, 205) \
  X(ErrorUnmapBufferObjectFailed, 206) X(ErrorArrayIsMapped, 207) X(ErrorAlreadyMapped, 208) \
  X(ErrorNoKernelImageForDevice, 209) X(ErrorAlreadyAcquired, 210) X(ErrorNotMapped, 211) \
  X(ErrorNotMappedAsArray, 212) X(ErrorNotMappedAsPointer, 213) X(ErrorECCUncorrectable, 214) \
  X(ErrorUnsupportedLimit, 215) X(ErrorDeviceAlreadyInUse, 216) X(ErrorPeerAccessUnsupported, 217) \
  X(ErrorInvalidPtx, 218) X(ErrorInvalidGraphicsContext, 219) X(ErrorNvlinkUncorrectable, 220) \
  X(ErrorJitCompilerNotFound, 221) X(ErrorUnsupportedPtxVersion, 222) X(ErrorJitCompilationDisabled, 223) \
  X(ErrorUnsupportedExecAffinity, 224) X(ErrorUnsupportedDevSideSync, 225) X(ErrorContained, 226) \
  X(ErrorInvalidSource, 300) X(ErrorFileNotFound, 301) X(ErrorSharedObjectSymbolNotFound, 302) \
  X(ErrorSharedObjectInitFailed, 303) X(ErrorOperatingSystem, 304) X(ErrorInvalidResourceHandle, 400) \
  X(ErrorIllegalState, 401) X(ErrorLossyQuery, 402) X(ErrorSymbolNotFound, 500) X(ErrorNotReady, 600) \
  X(ErrorIllegalAddress, 700) X(ErrorLaunchOutOfResources, 701) X(ErrorLaunchTimeout, 702) \
  X(ErrorLaunchIncompatibleTexturing, 703) X(ErrorPeerAccessAlreadyEnabled, 704) \
  X(ErrorPeerAccessNotEnabled, 705) X(ErrorSetOnActiveProcess, 708) X(ErrorContextIsDestroyed, 709) \
  X(ErrorAssert, 710) X(ErrorTooManyPeers, 711) X(ErrorHostMemoryAlreadyRegistered, 712) \
  X(ErrorHostMemoryNotRegistered, 713) X(ErrorHardwareStackError, 714) X(ErrorIllegalInstruction, 715) \
  X(ErrorMisalignedAddress, 716) X(ErrorInvalidAddressSpace, 717) X(ErrorInvalidPc, 718) \
  X(ErrorLaunchFailure, 719) X(ErrorCooperativeLaunchTooLarge, 720) X(ErrorTensorMemoryLeak, 721) \
  X(ErrorNotPermitted, 800) X(ErrorNotSupported, 801) X(ErrorSystemNotReady, 802) \
  X(ErrorSystemDriverMismatch, 803) X(ErrorCompatNotSupportedOnDevice, 804) X(ErrorMpsConnectionFailed, 805) \
  X(ErrorMpsRpcFailure, 806) X(ErrorMpsServerNotReady, 807) X(ErrorMpsMaxClientsReached, 808) \
  X(ErrorMpsMaxConnectionsReached, 809) X(ErrorMpsClientTerminated, 810) X(ErrorCdpNotSupported, 811) \
  X(ErrorCdpVersionMismatch, 812) X(ErrorStreamCaptureUnsupported, 900) X(ErrorStreamCaptureInvalidated, 901) \
  X(ErrorStreamCaptureMerge, 902) X(ErrorStreamCaptureUnmatched, 903) X(ErrorStreamCaptureUnjoined, 904) \
  X(ErrorStreamCaptureIsolation, 905) X(ErrorStreamCaptureImplicit, 906) X(ErrorCapturedEvent, 907) \
  X(ErrorStreamCaptureWrongThread, 908) X(ErrorTimeout, 909) X(ErrorGraphExecUpdateFailure, 910) \
  X(ErrorExternalDevice, 911) X(ErrorInvalidClusterSize, 912) X(ErrorFunctionNotLoaded, 913) \
  X(ErrorInvalidResourceType, 914) X(ErrorInvalidResourceConfiguration, 915) X(ErrorUnknown, 999) \
  X(ErrorApiFailureBase, 10000)
#define SIMT_DRIVER_ERRORS(X) \
  X(SUCCESS, 0) X(ERROR_INVALID_VALUE, 1) X(ERROR_OUT_OF_MEMORY, 2) X(ERROR_NOT_INITIALIZED, 3) \
  X(ERROR_DEINITIALIZED, 4) X(ERROR_PROFILER_DISABLED, 5) X(ERROR_PROFILER_NOT_INITIALIZED, 6) \
  X(ERROR_PROFILER_ALREADY_STARTED, 7) X(ERROR_PROFILER_ALREADY_STOPPED, 8) X(ERROR_STUB_LIBRARY, 34) \
  X(ERROR_CALL_REQUIRES_NEWER_DRIVER, 36) X(ERROR_DEVICE_UNAVAILABLE, 46) X(ERROR_NO_DEVICE, 100) \
  X(ERROR_INVALID_DEVICE, 101) X(ERROR_DEVICE_NOT_LICENSED, 102) X(ERROR_INVALID_IMAGE, 200) \
  X(ERROR_INVALID_CONTEXT, 201) X(ERROR_CONTEXT_ALREADY_CURRENT, 202) X(ERROR_MAP_FAILED, 205) \
  X(ERROR_UNMAP_FAILED, 206) X(ERROR_ARRAY_IS_MAPPED, 207) X(ERROR_ALREADY_MAPPED, 208) \
  X(ERROR_NO_BINARY_FOR_GPU, 209) X(ERROR_ALREADY_ACQUIRED, 210) X(ERROR_NOT_MAPPED, 211) \
  X(ERROR_NOT_MAPPED_AS_ARRAY, 212) X(ERROR_NOT_MAPPED_AS_POINTER, 213) X(ERROR_ECC_UNCORRECTABLE, 214) \
  X(ERROR_UNSUPPORTED_LIMIT, 215) X(ERROR_CONTEXT_ALREADY_IN_USE, 216) X(ERROR_PEER_ACCESS_UNSUPPORTED, 217) \
  X(ERROR_INVALID_PTX, 218) X(ERROR_INVALID_GRAPHICS_CONTEXT, 219) X(ERROR_NVLINK_UNCORRECTABLE, 220) \
  X(ERROR_JIT_COMPILER_NOT_FOUND, 221) X(ERROR_UNSUPPORTED_PTX_VERSION, 222) X(ERROR_JIT_COMPILATION_DISABLED, 223) \
  X(ERROR_UNSUPPORTED_EXEC_AFFINITY, 224) X(ERROR_UNSUPPORTED_DEVSIDE_SYNC, 225) X(ERROR_CONTAINED, 226) \
  X(ERROR_INVALID_SOURCE, 300) X(ERROR_FILE_NOT_FOUND, 301) X(ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, 302) \
  X(ERROR_SHARED_OBJECT_INIT_FAILED, 303) X(ERROR_OPERATING_SYSTEM, 304) X(ERROR_INVALID_HANDLE, 400) \
  X(ERROR_ILLEGAL_STATE, 401) X(ERROR_LOSSY_QUERY, 402) X(ERROR_NOT_FOUND, 500) X(ERROR_NOT_READY, 600) \
  X(ERROR_ILLEGAL_ADDRESS, 700) X(ERROR_LAUNCH_OUT_OF_RESOURCES, 701) X(ERROR_LAUNCH_TIMEOUT, 702) \
  X(ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, 703) X(ERROR_PEER_ACCESS_ALREADY_ENABLED, 704) \
  X(ERROR_PEER_ACCESS_NOT_ENABLED, 705) X(ERROR_PRIMARY_CONTEXT_ACTIVE, 708) X(ERROR_CONTEXT_IS_DESTROYED, 709) \
  X(ERROR_ASSERT, 710) X(ERROR_TOO_MANY_PEERS, 711) X(ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712) \
  X(ERROR_HOST_MEMORY_NOT_REGISTERED, 713) X(ERROR_HARDWARE_STACK_ERROR, 714) X(ERROR_ILLEGAL_INSTRUCTION, 715) \
  X(ERROR_MISALIGNED_ADDRESS, 716) X(ERROR_INVALID_ADDRESS_SPACE, 717) X(ERROR_INVALID_PC, 718) \
  X(ERROR_LAUNCH_FAILED, 719) X(ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720) X(ERROR_TENSOR_MEMORY_LEAK, 721) \
  X(ERROR_NOT_PERMITTED, 800) X(ERROR_NOT_SUPPORTED, 801) X(ERROR_SYSTEM_NOT_READY, 802) \
  X(ERROR_SYSTEM_DRIVER_MISMATCH, 803) X(ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804) \
  X(ERROR_MPS_CONNECTION_FAILED, 805) X(ERROR_MPS_RPC_FAILURE, 806) X(ERROR_MPS_SERVER_NOT_READY, 807) \
  X(ERROR_MPS_MAX_CLIENTS_REACHED, 808) X(ERROR_MPS_MAX_CONNECTIONS_REACHED, 809) X(ERROR_MPS_CLIENT_TERMINATED, 810) \
  X(ERROR_CDP_NOT_SUPPORTED, 811) X(ERROR_CDP_VERSION_MISMATCH, 812) X(ERROR_STREAM_CAPTURE_UNSUPPORTED, 900) \
  X(ERROR_STREAM_CAPTURE_INVALIDATED, 901) X(ERROR_STREAM_CAPTURE_MERGE, 902) X(ERROR_STREAM_CAPTURE_UNMATCHED, 903) \
  X(ERROR_STREAM_CAPTURE_UNJOINED, 904) X(ERROR_STREAM_CAPTURE_ISOLATION, 905) X(ERROR_STREAM_CAPTURE_IMPLICIT, 906) \
  X(ERROR_CAPTURED_EVENT, 907) X(ERROR_STREAM_CAPTURE_WRONG_THREAD, 908) X(ERROR_TIMEOUT, 909) \
  X(ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910) X(ERROR_EXTERNAL_DEVICE, 911) X(ERROR_INVALID_CLUSTER_SIZE, 912) \
  X(ERROR_FUNCTION_NOT_LOADED, 913) X(ERROR_INVALID_RESOURCE_TYPE, 914) X(ERROR_INVALID_RESOURCE_CONFIGURATION, 915) \
  X(ERROR_KEY_ROTATION, 916) X(ERROR_UNKNOWN, 999)
// clang-format on
