// Arithmetic, comparisons and conversions of PTX ISA 9.0, as calls of simt/import/ptx_arithmetic.hpp.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "command/translator/ptx_translator.hpp"

namespace warpcheck::cli {
namespace {

bool is_real(const std::string& type) { return type == "float" || type == "double"; }
bool is_16_bit_real(const std::string& type) { return type == "ptx::f16" || type == "ptx::bf16"; }
bool is_pair(const std::string& type) { return type == "ptx::f16x2" || type == "ptx::bf16x2"; }

// The direction of rounding; empty: to the nearest.
std::string direction_of(const instruction& i) {
  for (const auto& [part, direction] : {std::pair("rz", "zero"), std::pair("rm", "down"), std::pair("rp", "up")})
    if (i.has(part)) return direction;
  return "";
}

// Functions of simt/import/ptx_arithmetic.hpp by name and number of sources; all operands have the instruction's type.
const char* plain_function(const instruction& i) {
  static const std::map<std::pair<std::string_view, size_t>, const char*> functions = {
      {{"mov", 1}, "move"},
      {{"add", 2}, "add"},
      {{"sub", 2}, "subtract"},
      {{"and", 2}, "bit_and"},
      {{"or", 2}, "bit_or"},
      {{"xor", 2}, "bit_xor"},
      {{"not", 1}, "bit_not"},
      {{"cnot", 1}, "is_zero"},
      {{"neg", 1}, "negate"},
      {{"abs", 1}, "absolute"},
      {{"min", 2}, "least"},
      {{"max", 2}, "greatest"},
      {{"fma", 3}, "fused"},
      {{"div", 2}, "quotient"},
      {{"rem", 2}, "remainder"},
      {{"popc", 1}, "ones"},
      {{"clz", 1}, "zeros"},
      {{"brev", 1}, "reversed"},
      {{"lop3", 4}, "any_of_three"},
      {{"sad", 3}, "distance_and"},
      {{"copysign", 2}, "with_sign_of"},
      {{"ex2", 1}, "power_of_2"},
      {{"lg2", 1}, "logarithm"},
      {{"rcp", 1}, "reciprocal"},
      {{"rsqrt", 1}, "reciprocal_root"},
      {{"sqrt", 1}, "root"},
      {{"sin", 1}, "sine"},
      {{"cos", 1}, "cosine"},
      {{"tanh", 1}, "tangent"}};
  const auto at = functions.find({i.name(), i.operands.size() - 1});
  if (at == functions.end()) return nullptr;
  const bool extreme = i.name() == "min" || i.name() == "max";
  if (extreme && i.has("NaN")) return i.name() == "min" ? "least_or_nan" : "greatest_or_nan";
  return at->second;
}

}  // namespace

std::string ptx_translator::arithmetic(const instruction& i) {
  const std::string t = i.type();
  if (i.name() == "cvt" && i.opcode.size() >= 4)
    if (std::string code = convert_fp8(i); !code.empty()) return code;
  if (i.operands.empty() || i.has("relu") || i.has("xorsign") || i.has("satfinite")) return "";
  if (i.name() == "cvt") return convert(i);
  if (i.name() == "mov" && i.operands.size() == 2 && (i.operands[0][0] == '{' || i.operands[1][0] == '{'))
    return repack(i, t);
  if (const std::string& pair = i.opcode.back(); (pair == "s16x2" || pair == "u16x2") && i.operands.size() == 3)
    if (const char* function = plain_function(i); function != nullptr)
      return store(i.operands[0],
                   fmt::format("ptx::in_halves<{0}, ptx::{1}<{0}>>({2}, {3})", pair[0] == 's' ? "int16_t" : "uint16_t",
                               function, as("uint32_t", i.operands[1]), as("uint32_t", i.operands[2])));
  if (t.empty()) return "";
  for (const auto member : {&ptx_translator::comparison, &ptx_translator::carried, &ptx_translator::products,
                            &ptx_translator::bits, &ptx_translator::rounded})
    if (std::string code = (this->*member)(i, t); !code.empty() || !ok_) return code;
  return "";
}

// setp, set, selp, slct and testp.
std::string ptx_translator::comparison(const instruction& i, const std::string& t) {
  const auto& o = i.operands;
  if (i.name() == "selp" && o.size() == 4)
    return store(o[0], fmt::format("({} ? {} : {})", as("bool", o[3]), as(t, o[1]), as(t, o[2])));
  if (i.name() == "slct" && o.size() == 4 && i.opcode.size() >= 3) {
    const std::string chosen = type_of_ptx(i.opcode[i.opcode.size() - 2]);
    if (chosen.empty()) return "";
    return store(o[0], fmt::format("ptx::chosen_by_sign<{0}>({1}, {2}, !({3} >= 0))", chosen, as(chosen, o[1]),
                                   as(chosen, o[2]), as(t, o[3])));
  }
  if (i.name() == "testp" && o.size() == 2 && is_real(t) && i.opcode.size() == 3)
    return store(o[0], fmt::format("ptx::is_of_class(\"{}\", {})", i.opcode[1], as(t, o[1])));
  if ((i.name() != "setp" && i.name() != "set") || o.size() < 3 || o.size() > 4 || i.opcode.size() < 3) return "";
  std::string relation = i.opcode[1];
  static const std::map<std::string_view, const char*> unsigned_names = {
      {"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
  if (const auto at = unsigned_names.find(relation); at != unsigned_names.end()) relation = at->second;
  static const std::set<std::string_view> relations = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                                       "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  if (!relations.contains(relation)) return "";
  const std::string compared =
      fmt::format("ptx::compare<{}>(ptx::relation::{}, {}, {})", t, relation, as(t, o[1]), as(t, o[2]));
  const char* const joins = i.has("and") ? "&&" : i.has("or") ? "||" : i.has("xor") ? "!=" : nullptr;
  if ((joins != nullptr) != (o.size() == 4)) return "";
  const auto joined = [&](const std::string& value) {
    return joins == nullptr ? value : fmt::format("(({}) {} {})", value, joins, as("bool", o[3]));
  };
  if (i.name() == "set") {
    const std::string to = type_of_ptx(i.opcode[i.opcode.size() - 2]);
    return to.empty() ? "" : store(o[0], fmt::format("ptx::all_ones_or_one<{}>({})", to, joined(compared)));
  }
  const words targets = split_ptx(o[0], '|');
  std::string code = fmt::format("const bool simt_c = {};", compared);
  code += " const bool simt_p = " + joined("simt_c") + ", simt_q = " + joined("!simt_c") + "; (void)simt_q; ";
  code += store(targets[0], "simt_p");
  return targets.size() == 2 ? code + " " + store(targets[1], "simt_q") : targets.size() == 1 ? code : "";
}

// add.cc, addc, sub.cc, subc, mad.cc and madc: the carry flag lives within one asm statement.
std::string ptx_translator::carried(const instruction& i, const std::string& t) {
  const auto& o = i.operands;
  const bool takes = i.name() == "addc" || i.name() == "subc" || i.name() == "madc", gives = i.has("cc");
  if (!takes && !gives) return "";
  if ((takes && !carry_is_set_) || (t.find("32") == std::string::npos && t.find("64") == std::string::npos)) return "";
  const std::string u = t[0] == 'u' ? t : "u" + t;
  const std::string carry = takes ? "simt_carry" : "false", out = gives ? "&simt_carry" : "nullptr";
  std::string first;
  const bool is_product = i.name().starts_with("mad");
  if (o.size() != (is_product ? 4u : 3u)) return "";
  if (is_product)
    first = fmt::format("static_cast<{}>(ptx::{}<{}>({}, {}))", u, i.has("hi") ? "high_product" : "product", t,
                        as(t, o[1]), as(t, o[2]));
  else
    first = as(u, o[1]);
  if (gives && !carry_is_set_) registers_ += " bool simt_carry{};";
  carry_is_set_ |= gives;
  return store(o[0], fmt::format("ptx::{}<{}>({}, {}, {}, {})",
                                 i.name().starts_with("sub") ? "difference_with_borrow" : "sum_with_carry", u, first,
                                 as(u, o.back()), carry, out));
}

// mul, mad, mul24, mad24, dp4a and dp2a of integers.
std::string ptx_translator::products(const instruction& i, const std::string& t) {
  const auto& o = i.operands;
  if ((i.name() == "dp4a" || i.name() == "dp2a") && o.size() == 4 && i.opcode.size() >= 3) {
    const auto signedness = [&](size_t part) { return i.opcode[part] == "s32" ? "int32_t" : "uint32_t"; };
    const size_t last = i.opcode.size() - 1;
    return store(o[0], fmt::format("ptx::{}<{}, {}>({}, {}, {}{})", i.name() == "dp4a" ? "dot_of_4" : "dot_of_2",
                                   signedness(last - 1), signedness(last), as("uint32_t", o[1]), as("uint32_t", o[2]),
                                   as("uint32_t", o[3]),
                                   i.name() == "dp4a" ? ""
                                   : i.has("hi")      ? ", true"
                                                      : ", false"));
  }
  if (is_real(t) || is_16_bit_real(t) || is_pair(t) || i.has("sat")) return "";
  const bool is_product = i.name() == "mul" || i.name() == "mul24", is_sum = i.name() == "mad" || i.name() == "mad24";
  if (!(is_product && o.size() == 3) && !(is_sum && o.size() == 4)) return "";
  const bool wide = i.has("wide"), high = i.has("hi"), of_24 = i.name().ends_with("24");
  if (wide && t.find("64") != std::string::npos) return "";
  const std::string product = fmt::format("ptx::{}<{}>({}, {})",
                                          of_24  ? high ? "high_product_24" : "product_24"
                                          : wide ? "wide_product"
                                          : high ? "high_product"
                                                 : "product",
                                          t, as(t, o[1]), as(t, o[2]));
  if (is_product) return store(o[0], product);
  const std::string sum = wide ? fmt::format("ptx::wider<{}>", t) : t;
  return store(o[0], fmt::format("ptx::add<{}>({}, {})", sum, product, as(sum, o[3])));
}

// Shifts, bit fields, permutations.
std::string ptx_translator::bits(const instruction& i, const std::string& t) {
  const auto& o = i.operands;
  const auto u = [&](size_t k) { return as("uint32_t", o[k]); };
  const char* const wraps = i.has("wrap") ? "true" : "false";
  if (i.begins({"vabsdiff4", "u32", "u32", "u32", "add"}) && o.size() == 4)
    return store(o[0], fmt::format("(::__vsadu4({}, {}) + {})", u(1), u(2), u(3)));
  if ((i.name() == "shl" || i.name() == "shr") && o.size() == 3)
    return store(o[0],
                 fmt::format("ptx::shift_{}<{}>({}, {})", i.name() == "shl" ? "left" : "right", t, as(t, o[1]), u(2)));
  if (i.name() == "shf" && o.size() == 4 && (i.has("l") || i.has("r")))
    return store(o[0],
                 fmt::format("ptx::funnel_{}({}, {}, {}, {})", i.has("l") ? "left" : "right", u(1), u(2), u(3), wraps));
  if (i.name() == "bfe" && o.size() == 4)
    return store(o[0], fmt::format("ptx::field<{}>({}, {}, {})", t, as(t, o[1]), u(2), u(3)));
  if (i.name() == "bfi" && o.size() == 5)
    return store(o[0], fmt::format("ptx::inserted<{}>({}, {}, {}, {})", t, as(t, o[1]), as(t, o[2]), u(3), u(4)));
  if (i.name() == "bfind" && o.size() == 2)
    return store(o[0], fmt::format("ptx::highest_bit<{}>({}, {})", t, as(t, o[1]), i.has("shiftamt")));
  if (i.name() == "bmsk" && o.size() == 3)
    return store(o[0], fmt::format("ptx::bit_mask({}, {}, {})", u(1), u(2), wraps));
  if (i.name() == "szext" && o.size() == 3)
    return store(o[0], fmt::format("ptx::extended<{}>({}, {}, {})", t, as(t, o[1]), u(2), wraps));
  if (i.name() == "fns" && o.size() == 4)
    return store(o[0], fmt::format("ptx::nth_one({}, {}, {})", u(1), u(2), as("int", o[3])));
  if (i.name() == "prmt" && o.size() == 4)
    return i.opcode.size() == 3
               ? store(o[0], fmt::format("ptx::permuted_by(\"{}\", {}, {}, {})", i.opcode[2], u(1), u(2), u(3)))
               : store(o[0], fmt::format("ptx::permuted<uint32_t>({}, {}, {})", u(1), u(2), u(3)));
  return "";
}

// Returns the result of a function of plain_function, rounded, saturated and flushed as the parts require.
std::string ptx_translator::rounded(const instruction& i, const std::string& t) {
  const auto& o = i.operands;
  const char* function = plain_function(i);
  if (i.name() == "mul" && o.size() == 3 && !i.has("wide") && !i.has("hi")) function = "product";
  if (i.name() == "mad" && o.size() == 4 && is_real(t)) function = "fused";
  if (function == nullptr) return "";
  const std::string direction = direction_of(i), name = i.name();
  const bool flushes = i.has("ftz") && t == "float", saturates = i.has("sat");
  words list;
  for (size_t k = 1; k < o.size(); ++k)
    list.push_back(flushes ? fmt::format("ptx::flushed({})", as(t, o[k])) : as(t, o[k]));
  std::string value = fmt::format("ptx::{}<{}>({})", function, t, fmt::join(list, ", "));
  if (!direction.empty()) {
    static const std::map<std::string_view, const char*> directed = {
        {"add", "sum"}, {"sub", "sum"}, {"mul", "product"}, {"div", "quotient"}, {"fma", "fused"}, {"mad", "fused"}};
    const auto at = directed.find(name);
    if (at == directed.end() || t != "float") return "";
    if (name == "sub") list[1] = "-" + list[1];
    value = fmt::format("{}directed_{}({}, ::simt::import::direction::{})",
                        at->second == std::string_view("fused") ? "ptx::" : "::simt::import::", at->second,
                        fmt::join(list, ", "), direction);
  }
  if (saturates && !is_real(t)) {
    if (t != "int32_t" || (name != "add" && name != "sub")) return "";
    value = fmt::format("ptx::clamped_{}<{}>({})", name == "add" ? "sum" : "difference", t, fmt::join(list, ", "));
  } else if (saturates) {
    value = fmt::format("ptx::saturated<{}>({})", t, value);
  }
  if (i.has("approx") || i.has("full"))
    value = fmt::format("::simt::import::approximate(\"PTX's .{}\", {})", i.has("full") ? "full" : "approx", value);
  if (flushes) value = fmt::format("ptx::flushed({})", value);
  return store(o[0], value);
}

// mov.b64 d, {lo, hi} and mov.b64 {lo, hi}, d; b32 of two halves likewise, and of four parts.
std::string ptx_translator::repack(const instruction& i, const std::string& t) {
  const auto& o = i.operands;
  const bool packs = o[1][0] == '{';
  const words v = vector(packs ? o[1] : o[0]);
  const int width = t == "uint64_t" ? 64 : t == "uint32_t" ? 32 : t == "uint16_t" ? 16 : 0;
  if (width == 0 || (v.size() != 2 && v.size() != 4)) return "";
  const int bits = width / static_cast<int>(v.size());
  if (bits < 8) return "";
  const std::string part = fmt::format("uint{}_t", bits);
  if (packs) {
    words parts;
    for (size_t k = 0; k < v.size(); ++k)
      parts.push_back(fmt::format("static_cast<{}>({}) << {}", t, as(part, v[k]), bits * static_cast<int>(k)));
    return store(o[0], fmt::format("static_cast<{}>({})", t, fmt::join(parts, " | ")));
  }
  std::string code = fmt::format("const {} simt_v = {};", t, as(t, o[1]));
  for (size_t k = 0; k < v.size(); ++k)
    code += " " + store(v[k], fmt::format("static_cast<{}>(simt_v >> {})", part, bits * static_cast<int>(k)));
  return code;
}

// cvt.rn.satfinite{.relu}.e4m3x2.f32 d, high, low; the same from f16x2; cvt.rn{.relu}.f16x2.e4m3x2.
std::string ptx_translator::convert_fp8(const instruction& i) {
  const auto& o = i.operands;
  const std::string &to = i.opcode[i.opcode.size() - 2], &from = i.opcode.back();
  const auto is_fp8 = [](const std::string& t) { return t == "e4m3x2" || t == "e5m2x2"; };
  if (!i.has("rn") || is_fp8(to) == is_fp8(from)) return "";
  const std::string options = fmt::format("{}, {}", (is_fp8(to) ? to : from) == "e5m2x2", i.has("relu"));
  if (from == "f32" && i.has("satfinite") && o.size() == 3)
    return store(o[0], fmt::format("ptx::fp8_pair({}, {}, {})", options, as("float", o[1]), as("float", o[2])));
  if (from == "f16x2" && i.has("satfinite") && o.size() == 2)
    return fmt::format("const auto simt_v = {}; ", as("ptx::f16x2", o[1])) +
           store(o[0],
                 fmt::format("ptx::fp8_pair({}, static_cast<float>(simt_v.y), static_cast<float>(simt_v.x))", options));
  if (to == "f16x2" && o.size() == 2)
    return store(o[0], fmt::format("ptx::pair_of_fp8({}, {})", options, as("uint16_t", o[1])));
  return "";
}

std::string ptx_translator::convert(const instruction& i) {
  const auto& o = i.operands;
  const auto& p = i.opcode;
  if (i.begins({"cvt", "pack", "sat"}) && p.size() >= 5 && (o.size() == 3 || o.size() == 4) && p[4] == "s32") {
    const std::string_view type = p[3], sign = type.substr(0, 1), width = type.substr(1);
    if ((sign != "s" && sign != "u") || (width != "2" && width != "4" && width != "8" && width != "16")) return "";
    return store(
        o[0], fmt::format("ptx::packed<{}int32_t, {}>({}, {}, {})", sign == "u" ? "u" : "", width, as("int32_t", o[1]),
                          as("int32_t", o[2]), o.size() == 4 ? as("uint32_t", o[3]) : "0u"));
  }
  if (p.size() < 3) return "";
  const std::string &to = p[p.size() - 2], &from = p.back();
  static const std::map<std::string_view, const char*> modes = {
      {"rn", "nearest"},        {"rz", "zero"},        {"rm", "down"},        {"rp", "up"},
      {"rni", "whole_nearest"}, {"rzi", "whole_zero"}, {"rmi", "whole_down"}, {"rpi", "whole_up"}};
  std::string mode;
  for (const std::string& part : p)
    if (const auto at = modes.find(part); at != modes.end()) mode = at->second;
  if ((to == "f16x2" || to == "bf16x2") && from == "f32" && o.size() == 3 && (mode == "nearest" || mode == "zero"))
    return store(o[0], fmt::format("ptx::pair<ptx::{}>({}, {}, ptx::rounding::{})", to == "f16x2" ? "f16" : "bf16",
                                   as("float", o[1]), as("float", o[2]), mode));
  if (o.size() != 2) return "";
  if (to == "tf32" && from == "f32" && i.has("rna"))
    return store(o[0], fmt::format("::simt::round_tf32({})", as("float", o[1])));
  if (to == "tf32" && from == "f32" && (mode == "nearest" || mode == "zero"))
    return store(o[0], fmt::format("ptx::even_tf32({}, {})", as("float", o[1]), mode == "zero"));
  const std::string t = type_of_ptx(to), f = type_of_ptx(from);
  if (t.empty() || f.empty() || is_pair(t) || is_pair(f)) return "";
  const bool from_real = is_real(f) || is_16_bit_real(f), to_real = is_real(t) || is_16_bit_real(t);
  if (from_real && !to_real && !mode.starts_with("whole")) return "";
  if (mode.empty()) mode = "nearest";
  if (is_16_bit_real(t) && (mode == "up" || mode == "down")) return "";
  const bool flushes = i.has("ftz");
  std::string value = as(f, o[1]);
  if (flushes && f == "float") value = fmt::format("ptx::flushed({})", value);
  value = fmt::format("ptx::converted<{}, {}>({}, ptx::rounding::{}, {})", t, f, value, mode, i.has("sat"));
  if (flushes && t == "float") value = fmt::format("ptx::flushed({})", value);
  return store(o[0], value);
}

}  // namespace warpcheck::cli
