// Modules of the driver API and programs of NVRTC.
#include "simt/import/driver_modules.hpp"

#include <cxxabi.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <list>
#include <string>
#include <vector>

#include "simt/import/nvrtc.h"

struct CUmod_st {
  std::string key;
};
struct CUfunc_st {
  const simt::import::module_kernel* kernel;
};

namespace simt::import {
namespace {

// A text of a module that NVRTC made begins so, followed by the module's key.
constexpr char k_mark[] = "// module of warpcheck ";

CUresult load(CUmodule* module, const std::string& image, const std::string& name, const char* function,
              const site& where) {
  if (image.compare(0, 4, "\177ELF") == 0 || image.compare(0, 4, "\x50\xed\x55\xba") == 0)
    not_modelled("a module of machine code (cubin, fatbin), given to", function, where);
  std::string key;
  if (image.compare(0, sizeof k_mark - 1, k_mark) == 0) {
    key = image.substr(sizeof k_mark - 1, 16);
  } else {
    const module_text text('p', name, image);
    text.record();
    key = text.key();
  }
  if (the_program().report == nullptr) not_modelled("a module of", function, where);
  if (device_module* const m = find_module(key); m != nullptr && !m->variables.empty()) {
    if (m->live > 0) not_modelled("a second module of one text that has variables, given to", function, where);
    for (const module_variable& v : m->variables)
      if (m->loads > 0) copy("cuModuleLoad", where, v.address, v.initial, v.bytes, cudaMemcpyHostToDevice);
    ++m->loads, ++m->live;
  }
  *module = new CUmod_st{key};
  return CUDA_SUCCESS;
}

// An image in memory: machine code, or a text that ends with a zero.
std::string image_at(const void* image) {
  std::string first(static_cast<const char*>(image), strnlen(static_cast<const char*>(image), 4));
  return first == "\177ELF" || first == "\x50\xed\x55\xba" ? first : static_cast<const char*>(image);
}

// The name of a kernel in the source: "acme::add" of the symbol "_ZN4acme3addEPf".
std::string name_in_source(const char* symbol) {
  int status = 0;
  char* const text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  if (text == nullptr) return symbol;
  std::string name(text);
  std::free(text);
  return name.substr(0, name.find('('));
}

bool is_exceeded(const std::array<unsigned, 3>& largest, const dim3& block) {
  return largest[0] != 0 && uint64_t{block.x} * block.y * block.z > uint64_t{largest[0]} * largest[1] * largest[2];
}

std::string extents(const dim3& d) {
  return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z);
}

}  // namespace

CUresult launch_function(const char* name, const site& where, CUfunction function, launch_config c, CUstream stream,
                         void** parameters, void** extra) {
  const auto wrong = [&](const std::string& problem, cudaError_t code = cudaErrorInvalidValue) {
    return static_cast<CUresult>(misuse(name, where, problem, code));
  };
  if (function == nullptr) return wrong("the function is null", cudaErrorInvalidResourceHandle);
  const module_kernel& k = *function->kernel;
  const dim3 required(k.required_block[0], k.required_block[1], k.required_block[2]);
  if (required.x != 0 && extents(required) != extents(c.block))
    return wrong("the block of '" + k.name + "' is " + extents(c.block) + ", must be " + extents(required) +
                 " (.reqntid)");
  if (is_exceeded(k.largest_block, c.block))
    return wrong("the block of '" + k.name + "' is " + extents(c.block) + ", larger than .maxntid allows");
  std::vector<void*> places;
  if (parameters != nullptr) {
    places.assign(parameters, parameters + k.parameters.size());
    for (size_t i = 0; i < places.size(); ++i)
      if (places[i] == nullptr) return wrong("the address of parameter " + std::to_string(i) + " is null");
  } else if (!k.parameters.empty()) {
    char* buffer = nullptr;
    size_t bytes = 0;
    for (; extra != nullptr && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
      if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = static_cast<char*>(extra[1]);
      if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<size_t*>(extra[1]);
    }
    const module_parameter& last = k.parameters.back();
    if (buffer == nullptr || bytes < last.offset + last.bytes)
      return wrong("the parameters of '" + k.name + "' have " + std::to_string(last.offset + last.bytes) +
                   " bytes, the buffer has " + std::to_string(buffer == nullptr ? 0 : bytes));
    for (const module_parameter& p : k.parameters) places.push_back(buffer + p.offset);
  }
  const stream_call call{name, where, on(stream), may_wait(k.address, c)};
  enqueue(call, k.work(c, places.data(), where));
  return static_cast<CUresult>(cudaPeekAtLastError());
}

}  // namespace simt::import

CUresult cuModuleLoad(CUmodule* module, const char* file, ::simt::emu::call_site site) {
  std::ifstream in(file, std::ios::binary);
  if (!in.is_open()) return CUDA_ERROR_FILE_NOT_FOUND;
  return ::simt::import::load(module, {std::istreambuf_iterator<char>(in), {}}, file, "cuModuleLoad", site);
}

CUresult cuModuleLoadData(CUmodule* module, const void* image, ::simt::emu::call_site site) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return ::simt::import::load(module, ::simt::import::image_at(image), ::simt::import::name_of_text(site, ".ptx"),
                              "cuModuleLoadData", site);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values,
                            ::simt::emu::call_site site) {
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == CU_JIT_INFO_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER)
      if (values[i] != nullptr) *static_cast<char*>(values[i]) = '\0';
  return cuModuleLoadData(module, image, site);
}

CUresult cuModuleUnload(CUmodule module) {
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  ::simt::import::wait_for_all();
  if (auto* const m = ::simt::import::find_module(module->key); m != nullptr && m->live > 0) --m->live;
  delete module;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  static auto& all = *new std::list<CUfunc_st>;
  const std::string written = ::simt::import::name_in_source(name);
  for (const auto& k : ::simt::import::needed_module(module->key).kernels)
    if (k.name == name || k.name == written) {
      all.push_back({&k});
      return *function = &all.back(), CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const std::string written = ::simt::import::name_in_source(name);
  for (const auto& v : ::simt::import::needed_module(module->key).variables)
    if (v.name == name || v.name == written) {
      if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(v.address);
      if (bytes != nullptr) *bytes = v.bytes;
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const ::simt::machine_limits machine;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = static_cast<int>(machine.threads_per_block); break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 80; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const auto& limits = ::simt::import::the_program().dynamic_limit;
      const auto at = limits.find(function->kernel->address);
      *value = at == limits.end() ? static_cast<int>(machine.static_shared_bytes) : at->second;
      break;
    }
    default: *value = 0;  // only a compiler for a GPU knows registers, spills and static shared memory
  }
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
  if (value < 0 || static_cast<size_t>(value) > ::simt::machine_limits{}.shared_bytes) return CUDA_ERROR_INVALID_VALUE;
  ::simt::import::the_program().dynamic_limit[function->kernel->address] = value;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra,
                          ::simt::emu::call_site site) {
  std::vector<cudaLaunchAttribute> attributes;
  for (unsigned i = 0; i < config->numAttrs; ++i)
    attributes.push_back({static_cast<cudaLaunchAttributeID>(config->attrs[i].id), config->attrs[i].value});
  const cudaLaunchConfig_t same{{config->gridDimX, config->gridDimY, config->gridDimZ},
                                {config->blockDimX, config->blockDimY, config->blockDimZ},
                                config->sharedMemBytes,
                                config->hStream,
                                attributes.data(),
                                config->numAttrs};
  ::simt::launch_config c{same.gridDim, same.blockDim, same.dynamicSmemBytes};
  const cudaError_t refused = ::simt::import::apply_attributes({&same, site}, c);
  if (refused != cudaSuccess) return static_cast<CUresult>(refused);
  return ::simt::import::launch_function("cuLaunchKernelEx", site, function, c, config->hStream, parameters, extra);
}

// ---- NVRTC

struct _nvrtcProgram {
  simt::import::module_text text;
  std::vector<std::string> expressions = {};
  bool compiled = false;
  std::string ptx() const { return simt::import::k_mark + text.key() + "\n"; }
};

const char* nvrtcGetErrorString(nvrtcResult result) {
  switch (result) {
    case NVRTC_SUCCESS: return "NVRTC_SUCCESS";
    case NVRTC_ERROR_OUT_OF_MEMORY: return "NVRTC_ERROR_OUT_OF_MEMORY";
    case NVRTC_ERROR_PROGRAM_CREATION_FAILURE: return "NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
    case NVRTC_ERROR_INVALID_INPUT: return "NVRTC_ERROR_INVALID_INPUT";
    case NVRTC_ERROR_INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
    case NVRTC_ERROR_INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
    case NVRTC_ERROR_COMPILATION: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR unknown";
  }
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name, int headers,
                               const char* const* texts, const char* const* names, ::simt::emu::call_site site) {
  if (program == nullptr || source == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  const std::string own = name != nullptr && *name != '\0' ? name : ::simt::import::name_of_text(site, ".cu");
  *program = new _nvrtcProgram{{'c', own, source}};
  for (int i = 0; i < headers; ++i) {
    (*program)->text.add('h', names[i]);
    (*program)->text.add('i', texts[i]);
  }
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (program == nullptr || *program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression) {
  if (program == nullptr || program->compiled) return NVRTC_ERROR_INVALID_PROGRAM;
  std::string name(expression);
  name.erase(0, name.find_first_not_of("& "));
  program->text.add('e', name);
  program->expressions.push_back(expression);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  for (int i = 0; i < count; ++i) program->text.add('o', options[i]);
  program->compiled = true;
  program->text.record();
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* bytes) {
  if (program == nullptr || !program->compiled) return NVRTC_ERROR_INVALID_PROGRAM;
  *bytes = program->ptx().size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* text) {
  if (program == nullptr || !program->compiled) return NVRTC_ERROR_INVALID_PROGRAM;
  std::strcpy(text, program->ptx().c_str());
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* expression, const char** name) {
  if (program == nullptr || !program->compiled) return NVRTC_ERROR_INVALID_PROGRAM;
  for (const std::string& one : program->expressions)
    if (one == expression) {
      *name = one.c_str() + one.find_first_not_of("& ");
      return NVRTC_SUCCESS;
    }
  return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}
