// Stands in for the header of NVRTC. A source is compiled with the program for the emulated device, so its "PTX" is the
// name of a module that cuModuleLoadData finds. The command reports errors of the source.
#pragma once

#include <cstddef>

#include "simt/import/driver.hpp"

enum nvrtcResult {
  NVRTC_SUCCESS,
  NVRTC_ERROR_OUT_OF_MEMORY,
  NVRTC_ERROR_PROGRAM_CREATION_FAILURE,
  NVRTC_ERROR_INVALID_INPUT,
  NVRTC_ERROR_INVALID_PROGRAM,
  NVRTC_ERROR_INVALID_OPTION,
  NVRTC_ERROR_COMPILATION,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE,
  NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION,
  NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION,
  NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID,
  NVRTC_ERROR_INTERNAL_ERROR
};
using nvrtcProgram = struct _nvrtcProgram*;

const char* nvrtcGetErrorString(nvrtcResult result);
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name, int headers,
                               const char* const* texts, const char* const* names, SIMT_SITE);
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program);
nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression);
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options);
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* bytes);
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* text);
// A cubin has the same contents here.
inline nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* bytes) { return nvrtcGetPTXSize(program, bytes); }
inline nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* image) { return nvrtcGetPTX(program, image); }
nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* expression, const char** name);
inline nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t* bytes) { return *bytes = 1, NVRTC_SUCCESS; }
inline nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char* log) { return *log = '\0', NVRTC_SUCCESS; }
inline nvrtcResult nvrtcVersion(int* major, int* minor) { return *major = 12, *minor = 8, NVRTC_SUCCESS; }
