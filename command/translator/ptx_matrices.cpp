// PTX ISA 9.0: instructions of tensor cores.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "command/translator/ptx_translator.hpp"

namespace warpcheck::cli {

std::string ptx_translator::tensor(const instruction& i) {
  const auto& o = i.operands;
  if (i.name() == "ldmatrix") {
    const words to = o.size() == 2 ? vector(o[0]) : words{};
    const size_t count = i.has("x4") ? 4 : i.has("x2") ? 2 : 1;
    if (!i.has("m8n8") || !i.has("b16") || to.size() != count) return "";
    std::string code = fmt::format("uint32_t simt_m[{0}]; ::simt::ldmatrix<{0}, {1}>(simt_m, {2});", count,
                                   i.has("trans"), address(o[1], k_own));
    for (size_t k = 0; k < count; ++k) code += " " + store(to[k], fmt::format("simt_m[{}]", k));
    return code;
  }
  if (i.begins({"mma", "sync", "aligned"}) && o.size() == 4)
    return i.has("s32") ? integer_mma(i) : i.has("f64") ? double_mma(i) : mma(i);
  if ((i.begins({"mma", "sp", "sync"}) || i.begins({"mma", "sp::ordered_metadata", "sync"})) && o.size() == 6)
    return sparse_mma(i);
  if (i.name() == "stmatrix" && o.size() == 2 && i.has("m8n8") && i.has("b16")) {
    const words from = vector(o[1]);
    if (from.size() != (i.has("x4") ? 4u : i.has("x2") ? 2u : 1u)) return "";
    return fmt::format("const uint32_t simt_m[] = {}; ptx::store_matrices(ptx::window_place({}), simt_m, {});",
                       array("uint32_t", o[1]), place(o[0]), i.has("trans"));
  }
  if (i.name() == "movmatrix" && o.size() == 2 && i.has("trans"))
    return store(o[0], fmt::format("ptx::transposed_matrix({})", as("uint32_t", o[1])));
  if (i.name() == "wmma") return i.has("mma") ? wmma_product(i) : wmma_copy(i);
  if (i.name() != "wgmma") return "";
  if (i.has("fence")) return "::simt::wgmma_fence_registers();";
  if (i.has("commit_group")) return "::simt::wgmma_commit();";
  if (i.has("wait_group") && o.size() == 1) return fmt::format("::simt::wgmma_wait_groups({});", as("unsigned", o[0]));
  return i.has("mma_async") ? wgmma(i) : "";
}

// mma.sync.aligned.m16n8kK.row.col.D.A.B.C of reals. If an instruction has half a step's products, the others are
// zeros.
std::string ptx_translator::mma(const instruction& i) {
  const auto& o = i.operands;
  const auto& p = i.opcode;
  if (p.size() != 10 || p[4] != "row" || p[5] != "col" || p[6] != p[9]) return "";
  const auto is_fp8 = [](const std::string& type) { return type == "e4m3" || type == "e5m2"; };
  const bool of_8_bits = is_fp8(p[7]) && is_fp8(p[8]);
  if (p[7] != p[8] && !of_8_bits) return "";
  const bool of_16_bits = p[7] == "f16" || p[7] == "bf16", sums_f16 = p[6] == "f16";
  if (sums_f16 ? p[7] != "f16" && !of_8_bits : p[6] != "f32" || (!of_16_bits && !of_8_bits && p[7] != "tf32"))
    return "";
  const int depth = of_8_bits ? 32 : of_16_bits ? 16 : 8;
  const bool is_whole = p[3] == fmt::format("m16n8k{}", depth);
  if (!is_whole && p[3] != fmt::format("m16n8k{}", depth / 2)) return "";
  const words to = vector(o[0]);
  const size_t a = is_whole ? 4 : 2, sums = sums_f16 ? 2 : 4;
  if (to.size() != sums || vector(o[1]).size() != a || vector(o[2]).size() != a / 2 || vector(o[3]).size() != sums)
    return "";
  const char* const type = sums_f16 ? "uint32_t" : "float";
  std::string code =
      fmt::format("{0} simt_d[{1}]; const uint32_t simt_a[4] = {2}, simt_b[2] = {3}; const {0} simt_c[{1}] = {4}; ",
                  type, sums, array("uint32_t", o[1]), array("uint32_t", o[2]), array(type, o[3]));
  code += of_8_bits ? fmt::format(
                          "ptx::products_of_fp8({{::simt::tensor_type::{}, ::simt::tensor_type::{}}}, "
                          "::simt::tensor_sum::{}, simt_d, simt_a, simt_b, simt_c);",
                          p[7], p[8], p[6])
          : sums_f16 ? "ptx::products_of_f16(simt_d, simt_a, simt_b, simt_c);"
                     : fmt::format("::simt::mma<16, 8, {0}, ::simt::{1}, ::simt::{1}>(simt_d, simt_a, simt_b, simt_c);",
                                   depth, p[7]);
  for (size_t k = 0; k < sums; ++k) code += " " + store(to[k], fmt::format("simt_d[{}]", k));
  return code;
}

// mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64, and m16n8kK.
std::string ptx_translator::double_mma(const instruction& i) {
  const auto& o = i.operands;
  const size_t rows = i.opcode[3].starts_with("m16n8k") ? 2 : 1, steps = vector(o[2]).size();
  if (i.opcode[3] != fmt::format("m{}n8k{}", 8 * rows, 4 * steps) || vector(o[0]).size() != 2 * rows ||
      vector(o[1]).size() != rows * steps || vector(o[3]).size() != 2 * rows)
    return "";
  std::string code = fmt::format(
      "double simt_d[{0}]; const double simt_a[] = {1}, simt_b[] = {2}, simt_c[] = {3}; "
      "ptx::products_of_f64<{4}, {5}>(simt_d, simt_a, simt_b, simt_c);",
      2 * rows, array("double", o[1]), array("double", o[2]), array("double", o[3]), rows, steps);
  for (size_t k = 0; k < 2 * rows; ++k) code += " " + store(vector(o[0])[k], fmt::format("simt_d[{}]", k));
  return code;
}

// mma.sync.aligned.m16n8kK.row.col[.satfinite].s32.A.B.s32 of bytes, of 4 bits, and of bits (.xor.popc, .and.popc).
std::string ptx_translator::integer_mma(const instruction& i) {
  const auto& o = i.operands;
  const auto& p = i.opcode;
  const size_t types = i.has("satfinite") ? 7 : 6;
  if (p.size() < types + 4 || p[types] != "s32" || p[types + 3] != "s32") return "";
  const std::string &left = p[types + 1], &right = p[types + 2];
  const auto is_of = [&](const char* bits) {
    return left.substr(1) == bits && right.substr(1) == bits && left[0] != 'b' && right[0] != 'b';
  };
  const bool of_bits = left == "b1" && right == "b1" && i.has("popc");
  const int bits = is_of("8") ? 8 : is_of("4") ? 4 : of_bits ? 1 : 0;
  if (bits == 0 || p.size() != types + (of_bits ? 6 : 4)) return "";
  const auto sign = [](const std::string& t) { return t[0] == 's' ? "int32_t" : "uint32_t"; };
  const std::string dot = of_bits ? i.has("xor") ? "ones_of_xor" : "ones_of_and"
                                  : fmt::format("dot_of_{}<{}, {}>", 32 / bits, sign(left), sign(right));
  const size_t a = p[3] == fmt::format("m16n8k{}", 256 / bits)   ? 4
                   : p[3] == fmt::format("m16n8k{}", 128 / bits) ? 2
                                                                 : 0;
  const words to = vector(o[0]);
  if (a == 0 || to.size() != 4 || vector(o[1]).size() != a || vector(o[2]).size() != a / 2 || vector(o[3]).size() != 4)
    return "";
  std::string code = fmt::format(
      "int32_t simt_d[4]; const uint32_t simt_a[4] = {}, simt_b[2] = {}; const int32_t simt_c[4] = {}; "
      "ptx::products_of_integers<ptx::{}>(simt_d, simt_a, simt_b, simt_c, {});",
      array("uint32_t", o[1]), array("uint32_t", o[2]), array("int32_t", o[3]), dot, types == 7);
  for (size_t k = 0; k < 4; ++k) code += " " + store(to[k], fmt::format("simt_d[{}]", k));
  return code;
}

// mma.sp(::ordered_metadata).sync.aligned.m16n8kK.row.col(.satfinite).D.A.B.C d, a, b, c, metadata, selector. A has two
// of each four neighbours in a row, of 16 bits or (of narrower elements) of 8.
std::string ptx_translator::sparse_mma(const instruction& i) {
  const auto& o = i.operands;
  words p = i.opcode;
  const bool saturates = i.has("satfinite");
  std::erase(p, "satfinite");
  std::erase_if(p, [](const std::string& part) { return part.starts_with("kind::"); });
  if (p.size() != 11 || p[5] != "row" || p[6] != "col" || p[7] != p[10]) return "";
  const std::string &sum = p[7], &left = p[8], &right = p[9];
  const auto is_one_of = [](const std::string& type, const words& all) {
    return std::ranges::find(all, type) != all.end();
  };
  const words bytes = {"s8", "u8"}, halves = {"s4", "u4"}, fp8 = {"e4m3", "e5m2"};
  const bool of_fp8 = is_one_of(left, fp8) && is_one_of(right, fp8);
  const bool of_16_bits = left == right && (left == "f16" || left == "bf16"), of_tf32 = left == right && left == "tf32";
  const int bits = is_one_of(left, bytes) && is_one_of(right, bytes)     ? 8
                   : is_one_of(left, halves) && is_one_of(right, halves) ? 4
                                                                         : 0;
  if (bits != 0 ? sum != "s32" : saturates || !(of_fp8 || of_16_bits || of_tf32)) return "";
  const bool sums_f16 = sum == "f16";
  if (bits == 0 && (sums_f16 ? left != "f16" && !of_fp8 : sum != "f32")) return "";
  const int depth = bits != 0 ? 512 / bits : of_fp8 ? 64 : of_16_bits ? 32 : 16;
  const size_t a = vector(o[1]).size(), sums = sums_f16 ? 2 : 4;
  const bool is_whole = p[4] == fmt::format("m16n8k{}", depth);
  if (!is_whole && (of_fp8 || p[4] != fmt::format("m16n8k{}", depth / 2))) return "";
  const words to = vector(o[0]);
  if (a != (is_whole ? 4u : 2u) || vector(o[2]).size() != a || to.size() != sums || vector(o[3]).size() != sums)
    return "";
  const char* const type = bits != 0 ? "int32_t" : sums_f16 ? "uint32_t" : "float";
  std::string code = fmt::format(
      "{0} simt_d[{1}]; const uint32_t simt_a[] = {2}, simt_b[] = {3}; const {0} simt_c[{1}] = {4}; "
      "const ptx::sparse_rows simt_r = {{{5}, {6}, {7}}}; ",
      type, sums, array("uint32_t", o[1]), array("uint32_t", o[2]), array(type, o[3]), as("uint32_t", o[4]),
      as("unsigned", o[5]), !of_16_bits && !of_tf32);
  const auto sign = [](const std::string& t) { return t[0] == 's' ? "int32_t" : "uint32_t"; };
  code += bits != 0 ? fmt::format(
                          "ptx::sparse_products_of_integers<ptx::dot_of_{}<{}, {}>>(simt_d, simt_a, simt_b, simt_c, "
                          "simt_r, {});",
                          32 / bits, sign(left), sign(right), saturates)
                    : fmt::format(
                          "ptx::sparse_products_of_reals({{::simt::tensor_type::{}, ::simt::tensor_type::{}}}, "
                          "::simt::tensor_sum::{}, simt_d, simt_a, simt_b, simt_c, simt_r);",
                          left, right, sum);
  for (size_t k = 0; k < sums; ++k) code += " " + store(to[k], fmt::format("simt_d[{}]", k));
  return code;
}

namespace {

// A matrix of wmma: `use` is a, b, c or d, `type` the PTX type of its elements.
struct wmma_matrix {
  std::string use, shape, type, layout;
  int m = 0, n = 0, k = 0;

  wmma_matrix(std::string used_as, std::string shape_name, std::string element, std::string order)
      : use(std::move(used_as)), shape(std::move(shape_name)), type(std::move(element)), layout(std::move(order)) {
    if (std::sscanf(shape.c_str(), "m%dn%dk%d", &m, &n, &k) != 3) m = 0;
  }
  bool accumulates() const { return use == "c" || use == "d"; }
  bool is_known() const { return m > 0 && (layout == "row" || layout == "col") && !element().empty(); }
  std::string element() const {
    static const std::map<std::string, std::string> names = {
        {"f16", "__half"},       {"bf16", "__nv_bfloat16"},
        {"f32", "float"},        {"f64", "double"},
        {"s32", "int"},          {"s8", "signed char"},
        {"u8", "unsigned char"}, {"tf32", "nvcuda::wmma::precision::tf32"}};
    if (type == "s4" || type == "u4" || type == "b1") return "nvcuda::wmma::experimental::precision::" + type;
    const auto found = names.find(type);
    return found == names.end() ? "" : found->second;
  }
  std::string in_memory() const {
    return type == "tf32" ? "float" : type == "s4" || type == "u4" || type == "b1" ? "unsigned" : element();
  }
  std::string fragment() const {
    const std::string kind = use == "a" ? "matrix_a" : use == "b" ? "matrix_b" : "accumulator";
    const std::string order = accumulates() ? "" : fmt::format(", nvcuda::wmma::{}_major", layout);
    return fmt::format("nvcuda::wmma::fragment<nvcuda::wmma::{}, {}, {}, {}, {}{}>", kind, m, n, k, element(), order);
  }
  size_t registers() const {
    if (type == "f16" && !accumulates()) return 8;
    const int elements = use == "a" ? m * k : use == "b" ? k * n : m * n;
    const int bits = type == "b1" ? 1 : type[1] == '4' ? 4 : type[1] == '8' ? 8 : type.ends_with("16") ? 16 : 32;
    return static_cast<size_t>(type == "f64" ? elements / 32 : elements * bits / (32 * 32));
  }
  const char* word() const { return type == "f64" ? "double" : "uint32_t"; }
  int stride() const {
    const bool by_rows = layout == "row";
    return use == "a" ? by_rows ? k : m : use == "b" ? by_rows ? n : k : by_rows ? n : m;
  }
};

}  // namespace

// wmma.load.{a,b,c}.sync.aligned.layout.shape(.space).type r, [p](, stride); wmma.store.d... [p], r(, stride).
std::string ptx_translator::wmma_copy(const instruction& i) {
  const auto& o = i.operands;
  const auto& p = i.opcode;
  if (p.size() < 8 || p[3] != "sync" || p[4] != "aligned" || o.size() < 2 || o.size() > 3) return "";
  const bool loads = p[1] == "load";
  const wmma_matrix x(p[2], p[6], p.back(), p[5]);
  const std::string &registers = o[loads ? 0 : 1], &memory = o[loads ? 1 : 0];
  const words list = vector(registers);
  if ((!loads && p[1] != "store") || !x.is_known() || list.size() != x.registers()) return "";
  const std::string stride = o.size() == 3 ? as("unsigned", o[2]) : std::to_string(x.stride());
  const std::string order = x.accumulates() ? fmt::format(", nvcuda::wmma::mem_{}_major", x.layout) : "";
  const std::string at = fmt::format("reinterpret_cast<{}*>({})", x.in_memory(), address(memory, space_of(i)));
  if (!loads)
    return fmt::format(
        "const {0} simt_r[] = {1}; nvcuda::wmma::store_matrix_sync({2}, ptx::get_fragment<{3}>(simt_r), {4}{5});",
        x.word(), array(x.word(), registers), at, x.fragment(), stride, order);
  return fmt::format("{} simt_x; nvcuda::wmma::load_matrix_sync(simt_x, {}, {}{}); ", x.fragment(), at, stride, order) +
         store_fragment(list, x.word());
}

// Puts the fragment simt_x into registers.
std::string ptx_translator::store_fragment(const words& to, const char* word) {
  std::string code = fmt::format("{} simt_r[{}]; ptx::put_fragment(simt_x, simt_r);", word, to.size());
  for (size_t k = 0; k < to.size(); ++k) code += " " + store(to[k], fmt::format("simt_r[{}]", k));
  return code;
}

// wmma.mma(.op.popc).sync.aligned.layout.layout.shape.D(.A.B).C d, a, b, c.
std::string ptx_translator::wmma_product(const instruction& i) {
  const auto& o = i.operands;
  words p = i.opcode;
  const bool of_bits = i.has("popc");
  std::erase_if(
      p, [](const std::string& part) { return part == "xor" || part == "and" || part == "popc" || part == "rn"; });
  if (p.size() == 9) p.insert(p.begin() + 8, {"f16", "f16"});
  if (p.size() != 11 || p[2] != "sync" || p[3] != "aligned" || p[8] != p[9] || o.size() != 4) return "";
  const wmma_matrix all[] = {
      {"d", p[6], p[7], "row"}, {"a", p[6], p[8], p[4]}, {"b", p[6], p[9], p[5]}, {"c", p[6], p[10], "row"}};
  std::string code;
  for (size_t k = 0; k < 4; ++k) {
    if (!all[k].is_known() || vector(o[k]).size() != all[k].registers()) return "";
    if (k > 0)
      code += fmt::format("const {0} simt_{1}[] = {2}; ", all[k].word(), all[k].use, array(all[k].word(), o[k]));
  }
  code += fmt::format("{} simt_x; nvcuda::wmma::{}(simt_x", all[0].fragment(), of_bits ? "bmma_sync" : "mma_sync");
  for (size_t k = 1; k < 4; ++k) code += fmt::format(", ptx::get_fragment<{}>(simt_{})", all[k].fragment(), all[k].use);
  if (of_bits) code += fmt::format(", nvcuda::wmma::experimental::bmmaBitOp{}", i.has("xor") ? "XOR" : "AND");
  return code + "); " + store_fragment(vector(o[0]), all[0].word());
}

// wgmma.mma_async(.sp).sync.aligned.m64nNkK.D.A.B d, a, b(, metadata, selector), scale-d; for reals imm-scale-a and
// imm-scale-b, and for 16 bits also the transpositions of operands in shared memory; for integers .satfinite before or
// after the types.
std::string ptx_translator::wgmma(const instruction& i) {
  words o = i.operands, p = i.opcode;
  const bool saturates = i.has("satfinite"), is_sparse = i.has("sp") && o.size() > 5;
  std::string rows = "false, 0", metadata = "0";
  if (is_sparse) {
    rows = fmt::format("true, {}", as("unsigned", o[4]));
    metadata = as("uint32_t", o[3]);
    o.erase(o.begin() + 3, o.begin() + 5);
    std::erase(p, "sp");
  }
  if (saturates) p.erase(std::ranges::find(p, "satfinite"));
  if (p.size() != 8 || o.size() < 4) return "";
  const std::string &sum = p[5], &left = p[6], &right = p[7];
  const bool halves = left == "f16" || left == "bf16", integers = left == "s8" || left == "u8";
  const bool bytes = left == "e4m3" || left == "e5m2";
  const bool right_fits = integers ? right == "s8" || right == "u8" : bytes ? right == "e4m3" || right == "e5m2" : true;
  if (!(integers || bytes || left == "tf32" || halves) || !right_fits || (!integers && !bytes && left != right))
    return "";
  const bool sums_f16 = sum == "f16";
  if (integers ? sum != "s32" : saturates || (sum != "f32" && !(sums_f16 && (bytes || left == "f16")))) return "";
  int n = 0, k = 0;
  if (std::sscanf(p[4].c_str(), "m64n%dk%d", &n, &k) != 2 || k != (halves ? 16 : left == "tf32" ? 8 : 32) << is_sparse)
    return "";
  const words d = vector(o[0]), a = vector(o[1]);
  const bool in_registers = o[1][0] == '{';
  const size_t scales = integers ? 4 : 6, turns = !halves ? 0 : in_registers ? 1 : 2;
  if (d.size() != static_cast<size_t>(sums_f16 ? n / 4 : n / 2) || (in_registers && a.size() != 4) ||
      o.size() != scales + turns)
    return "";
  words places;
  for (const std::string& one : d) places.push_back("&" + value(one));
  const auto major = [&](bool given, size_t at) {
    return given ? fmt::format("ptx::major_of({})", as("int", o[at])) : "::simt::major::k";
  };
  const auto negates = [&](size_t at) { return integers ? "false" : fmt::format("{} < 0", as("int", o[at])); };
  return fmt::format(
      "void* const simt_d[] = {{{}}}; {}ptx::products({{{{::simt::tensor_type::{}, ::simt::tensor_type::{}}}, {}, {}, "
      "{}, ::simt::tensor_sum::{}, {}, {}, {}}}, simt_d, {}, {}, {}, {}, {});",
      fmt::join(places, ", "),
      in_registers ? fmt::format("const uint32_t simt_a[4] = {}; ", array("uint32_t", o[1])) : "", left, right, n,
      major(turns == 2, 6), major(turns > 0, 5 + turns), saturates ? "saturated_s32" : sum, negates(4), negates(5),
      rows, in_registers ? "simt_a" : "nullptr", in_registers ? "0" : as("uint64_t", o[1]), as("uint64_t", o[2]),
      as("bool", o[3]), metadata);
}

}  // namespace warpcheck::cli
