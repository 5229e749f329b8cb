// The program of a PTX module: variables, functions, kernels, and a table of kernels for its main().
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "command/translator/ptx_module.hpp"
#include "command/translator/ptx_translator.hpp"
#include "properties/engine/error.hpp"

namespace warpcheck::cli {
namespace {

using name_map = std::map<std::string, std::string>;

std::string cpp_name(const char* prefix, std::string name) {
  std::replace(name.begin(), name.end(), '$', '_');
  std::replace(name.begin(), name.end(), '%', '_');
  return prefix + name;
}

// Functions of CUDA's own device library (ptx_program.hpp).
constexpr std::string_view k_library[] = {"vprintf", "__assertfail"};

std::string marker(const ptx_module& m, int line) { return fmt::format("# {} \"{}\"\n", line, m.file); }

// Values of a variable, as bits of its type; only numbers.
std::string values_of(const ptx_module& m, const ptx_variable& v) {
  std::string text = v.values;
  std::erase_if(text, [](char c) { return c == '{' || c == '}'; });
  words list;
  for (const std::string& one : split_ptx(text, ',')) {
    const bool is_real =
        one.starts_with("0f") || one.starts_with("0F") || one.starts_with("0d") || one.starts_with("0D");
    const std::string number = is_real ? "0x" + one.substr(2) : one;
    const bool is_number = number.find_first_not_of("0123456789abcdefABCDEFxXU-") == std::string::npos &&
                           !number.empty() && (std::isdigit(static_cast<unsigned char>(number[0])) || number[0] == '-');
    if (!is_number)
      throw engine::usage_error(fmt::format(
          "{}:{}: the variable '{}' begins as '{}', which is not modelled; numbers are", m.file, v.line, v.name, one));
    list.push_back(fmt::format("static_cast<uint{}_t>({})", 8 * v.element_bytes(), number));
  }
  return fmt::format("{{{}}}", fmt::join(list, ", "));
}

std::string declare_module_variable(const ptx_module& m, const ptx_variable& v, name_map& known) {
  const std::string name = cpp_name("simt_g_", v.name);
  if (v.space == "shared") {
    known[v.name] = fmt::format("ptx::window_address(reinterpret_cast<uint64_t>(&{}[0]))", name);
    const std::string size = v.count < 0 ? "" : std::to_string(v.bytes());
    return fmt::format("{}{}__shared__ alignas({}) unsigned char {}[{}];\n", marker(m, v.line),
                       v.count < 0 || v.is_extern ? "extern " : "", v.align, name, size);
  }
  if (v.is_extern)
    throw engine::usage_error(
        fmt::format("{}:{}: the variable '{}' is another module's; one module runs", m.file, v.line, v.name));
  known[v.name] = fmt::format("(reinterpret_cast<uintptr_t>(&{}[0]))", name);
  return fmt::format("{}{} alignas({}) uint{}_t {}[{}]{};\n", marker(m, v.line),
                     v.space == "const" ? "__constant__" : "__device__", v.align, 8 * v.element_bytes(), name,
                     std::max(v.count, 1L), v.values.empty() ? "" : " = " + values_of(m, v));
}

std::string head_of(const ptx_module& m, const ptx_function& f) {
  if (!f.is_kernel)
    return fmt::format("static __device__ void {}(const uintptr_t* simt_out, const uintptr_t* simt_in)",
                       m.function(f.name));
  const std::string cluster = f.cluster[0] == 0 ? "" : fmt::format("__cluster_dims__({}) ", fmt::join(f.cluster, ", "));
  return fmt::format("static __global__ void {}{}(::simt::import::ptx::parameters<{}> simt_p)", cluster,
                     cpp_name("simt_k_", f.name), std::max<size_t>(f.parameter_bytes(), 1));
}

std::string define_function(const ptx_module& m, const ptx_function& f, name_map known) {
  for (size_t k = 0; k < f.parameters.size(); ++k)
    known[f.parameters[k].name] =
        f.is_kernel ? fmt::format("(simt_p.bytes + {})", f.parameters[k].offset) : fmt::format("(simt_in[{}])", k);
  for (size_t k = 0; k < f.results.size(); ++k) known[f.results[k].name] = fmt::format("(simt_out[{}])", k);
  return fmt::format("{}{} {{ namespace ptx = ::simt::import::ptx;{}\n}}\n", marker(m, f.line), head_of(m, f),
                     ptx_translator(m, known, f.is_kernel).function_body(f.body));
}

// The code that launches a kernel, and its place in the table.
std::string launcher(const ptx_module& m, const ptx_function& f) {
  const std::string name = cpp_name("simt_k_", f.name);
  return fmt::format(
      "{}static void simt_launch_{}(dim3 grid, dim3 block, int shared, const void* bytes) {{ "
      "cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, shared); "
      "::simt::import::ptx::parameters<{}> all; memcpy(&all, bytes, sizeof all); {}<<<grid, block, shared>>>(all); "
      "}}\n",
      marker(m, f.line), name, name, std::max<size_t>(f.parameter_bytes(), 1), name);
}

}  // namespace

std::string ptx_module::function(const std::string& name) const {
  if (std::find(std::begin(k_library), std::end(k_library), name) != std::end(k_library))
    return "ptx::library::" + name;
  const auto at =
      std::ranges::find_if(functions, [&](const ptx_function& f) { return !f.is_kernel && f.name == name; });
  return at == functions.end() ? "" : cpp_name("simt_f_", name);
}

namespace {

std::string functions_of(const ptx_module& m) {
  std::string text = marker(m, 1) + "#include \"simt/import/ptx_program.hpp\"\n";
  name_map known;
  for (const ptx_variable& v : m.variables) text += declare_module_variable(m, v, known);
  for (const ptx_function& f : m.functions)
    if (!f.is_kernel) text += head_of(m, f) + ";\n";
  for (const ptx_function& f : m.functions) text += define_function(m, f, known);
  if (text.find("nvcuda::wmma::") != std::string::npos) text.insert(0, "#include \"simt/import/ptx_wmma.hpp\"\n");
  return text;
}

}  // namespace

std::string program_of(const ptx_module& m) {
  std::string text = functions_of(m), table;
  for (const ptx_function& f : m.functions) {
    if (!f.is_kernel) continue;
    text += launcher(m, f);
    table += fmt::format("{{\"{0}\", simt_launch_{1}}}, ", f.name, cpp_name("simt_k_", f.name));
  }
  text += fmt::format(
      "int main(int argc, char** argv) {{ const ::simt::import::ptx::kernel kernels[] = {{{}{{}}}}; return "
      "::simt::import::ptx::run_launches(kernels, argc, argv); }}\n",
      table);
  return text;
}

std::string source_of(const ptx_module& m, const std::string& key) {
  std::string kernels, variables;
  for (const ptx_function& f : m.functions) {
    if (!f.is_kernel) continue;
    std::string parameters;
    for (const ptx_variable& p : f.parameters) parameters += fmt::format("{{{}, {}}}, ", p.offset, p.bytes());
    kernels += fmt::format("::simt::import::ptx::module_kernel_of(\"{}\", {}, {{{}}}, {{{}}}, {{{}}}), ", f.name,
                           cpp_name("simt_k_", f.name), parameters, fmt::join(f.required_block, ", "),
                           fmt::join(f.largest_block, ", "));
  }
  for (const ptx_variable& v : m.variables)
    if (v.space != "shared")
      variables += fmt::format("::simt::import::variable_of_module(\"{0}\", {1}, simt_initial_{1}), ", v.name,
                               cpp_name("simt_g_", v.name));
  return functions_of(m) + fmt::format(
                               "# 1 \"warpcheck\"\nstatic const ::simt::import::module_registration "
                               "simt_this_module({{\"{}\", {{{}}}, {{{}}}}});\n",
                               key, kernels, variables);
}

}  // namespace warpcheck::cli
