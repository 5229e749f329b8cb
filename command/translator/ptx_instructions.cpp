// PTX ISA 9.0, by kinds of instructions.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "command/translator/ptx_translator.hpp"

namespace warpcheck::cli {
namespace {

constexpr const char* k_device_scope = "::simt::memory_scope::device";

std::string scope_of(const instruction& i) {
  if (i.has("cta")) return "::simt::memory_scope::block";
  if (i.has("cluster")) return "::simt::memory_scope::cluster";
  return k_device_scope;
}

// Returns the name of a reduction's simt::tensor_element; empty if it has none.
std::string element_of(const instruction& i) {
  static const std::map<std::string_view, const char*> elements = {
      {"u32", "u32"}, {"b32", "u32"}, {"s32", "s32"}, {"u64", "u64"},   {"b64", "u64"},
      {"s64", "s64"}, {"f16", "f16"}, {"f32", "f32"}, {"bf16", "bf16"}, {"f64", "f64"}};
  const auto at = elements.find(i.opcode.back());
  return at == elements.end() ? "" : at->second;
}

// Returns the name of a reduction's simt::tensor_reduction; empty if it has none.
std::string reduction_of(const instruction& i) {
  static const std::map<std::string_view, const char*> names = {{"add", "add"},   {"min", "min"},    {"max", "max"},
                                                                {"inc", "inc"},   {"dec", "dec"},    {"and", "bit_and"},
                                                                {"or", "bit_or"}, {"xor", "bit_xor"}};
  for (const std::string& part : i.opcode)
    if (const auto at = names.find(part); at != names.end()) return at->second;
  return "";
}

}  // namespace

std::string ptx_translator::translate(const instruction& i) {
  for (const auto member :
       {&ptx_translator::control, &ptx_translator::barriers, &ptx_translator::copies, &ptx_translator::tensor,
        &ptx_translator::memory, &ptx_translator::warp, &ptx_translator::arithmetic})
    if (std::string code = (this->*member)(i); !code.empty() || !ok_) return code;
  return "";
}

std::string ptx_translator::control(const instruction& i) {
  if (i.name() == "bra" && i.operands.size() == 1) {
    const std::string* name = label(i.operands[0]);
    return name == nullptr ? "" : fmt::format("goto {};", *name);
  }
  if (module_ != nullptr) {
    if (i.name() == "brx" && i.has("idx")) return indexed_branch(i);
    if (i.name() == "ret" || (i.name() == "exit" && is_kernel_)) return "return;";
    if (i.name() == "call") return call(i);
  }
  if (i.name() == "trap") return "::__trap();";
  if (i.name() == "nanosleep") return "::__nanosleep(0);";
  if (i.name() == "griddepcontrol" && i.has("wait")) return "::simt::grid_dependency_wait();";
  if (i.name() == "griddepcontrol" && i.has("launch_dependents")) return "::simt::trigger_dependents();";
  if (i.name() == "prefetch" || i.name() == "prefetchu" || i.name() == "applypriority" || i.name() == "setmaxnreg" ||
      i.name() == "pmevent")
    return ";";
  if (i.name() == "discard" && !i.operands.empty())
    return fmt::format("ptx::discard({});", address(i.operands[0], k_generic));
  return "";
}

std::string ptx_translator::barriers(const instruction& i) {
  const auto& o = i.operands;
  if ((i.begins({"bar", "sync"}) || i.begins({"barrier", "sync"}) || i.begins({"bar", "cta", "sync"}) ||
       i.begins({"barrier", "cta", "sync"})) &&
      !o.empty() && o.size() <= 2)
    return fmt::format("ptx::block_barrier({}, {});", as("int", o[0]), o.size() == 2 ? as("unsigned", o[1]) : "0u");
  if ((i.begins({"bar", "arrive"}) || i.begins({"barrier", "arrive"}) || i.begins({"barrier", "cta", "arrive"})) &&
      o.size() == 2)
    return fmt::format("ptx::block_arrive({}, {});", as("int", o[0]), as("unsigned", o[1]));
  if (const bool reduces = i.begins({"bar", "red"}) || i.begins({"barrier", "red"}) ||
                           i.begins({"bar", "cta", "red"}) || i.begins({"barrier", "cta", "red"});
      reduces && (o.size() == 3 || o.size() == 4)) {
    const char* const how = i.has("popc") ? "count" : i.has("and") ? "all" : "any";
    const std::string result =
        fmt::format("ptx::block_vote(::simt::emu::reduction::{}, {}, {}, {})", how, as("int", o[1]),
                    o.size() == 4 ? as("unsigned", o[2]) : "0u", as("bool", o.back()));
    return store(o[0], i.has("popc") ? result : result + " != 0");
  }
  if (i.begins({"bar", "warp", "sync"}) && o.size() == 1) return fmt::format("::__syncwarp({});", as("unsigned", o[0]));
  if (i.begins({"barrier", "cluster", "arrive"}))
    return i.has("relaxed") ? "::simt::cluster_arrive_relaxed();" : "::simt::cluster_arrive();";
  if (i.begins({"barrier", "cluster", "wait"})) return "::simt::cluster_wait();";
  if (i.name() == "membar")
    return i.has("cta") ? "::__threadfence_block();" : i.has("gl") || i.has("sys") ? "::__threadfence();" : "";
  if (i.begins({"fence", "proxy", "async", "global"})) return ";";  // proxies of global memory are not checked
  if (i.begins({"fence", "proxy", "async"}))
    return fmt::format("::simt::fence_proxy_async<::simt::proxy_space::{}>();",
                       i.has("shared::cta") ? "own_shared" : "all");
  if (i.begins({"fence", "proxy", "alias"})) return ";";  // one address for each place
  if (i.begins({"fence", "proxy", "tensormap::generic", "release"}) && i.operands.empty())
    return fmt::format("::simt::release_maps({});", scope_of(i));
  if (i.begins({"fence", "proxy", "tensormap::generic", "acquire"}) && o.size() == 2)
    return fmt::format("::simt::acquire_map(ptx::map_at({}), {});", address(o[0], k_generic), scope_of(i));
  if (i.has("proxy")) return "";
  if (i.begins({"fence", "mbarrier_init"})) return "::simt::fence_mbarrier_init();";
  if (i.name() == "fence" && (i.has("acq_rel") || i.has("sc") || i.has("acquire") || i.has("release")))
    return fmt::format("::simt::fence({}, ::simt::fence_order::{});", scope_of(i),
                       i.has("sc") ? "sequential" : "acquire_release");
  if (i.name() == "mbarrier") return mbarrier(i);
  return "";
}

std::string ptx_translator::mbarrier(const instruction& i) {
  words o = i.operands;
  if (i.has("arrive") && o.size() > 1 && is_unread(o[0])) o[0] = "_";
  const auto barrier = [&](const std::string& operand) {
    return fmt::format("ptx::barrier_at({})", address(operand, space_of(i)));
  };
  const std::string order = fmt::format("{{{}, {}}}", i.has("relaxed"), i.has("cta"));
  const std::string& what = i.opcode.size() > 1 ? i.opcode[1] : i.opcode[0];
  if (what == "init" && o.size() == 2) return fmt::format("{}.init_unfenced({});", barrier(o[0]), as("unsigned", o[1]));
  if (what == "inval" && o.size() == 1) return ";";
  if (what == "arrive" && i.has("expect_tx") && o.size() == 3 && o[0] == "_")
    return fmt::format("{}.arrive({}, {});", barrier(o[1]), as("unsigned", o[2]), order);
  if (what == "arrive" && !i.has("expect_tx") && o.size() >= 2 && o.size() <= 3 && o[0] == "_")
    return fmt::format("ptx::arrive({}, {}, {});", address(o[1], space_of(i)),
                       o.size() == 3 ? as("unsigned", o[2]) : "1u", order);
  // The result is a state that only the forms without a parity take.
  if (what == "arrive" && !i.has("expect_tx") && o.size() == 2)
    return store(o[0], fmt::format("ptx::arrive_for_state({}, 0, {})", address(o[1], space_of(i)), order));
  if (what == "arrive" && !i.has("expect_tx") && o.size() == 3)
    return store(o[0], fmt::format("ptx::arrive_often_for_state({}, {}, {})", address(o[1], space_of(i)),
                                   as("unsigned", o[2]), order));
  if (what == "arrive_drop" && !i.has("expect_tx") && o.size() == 2 && o[0] != "_")
    return store(o[0], fmt::format("ptx::drop_for_state({}, {})", address(o[1], space_of(i)), order));
  if (what == "arrive" && i.has("expect_tx") && o.size() == 3)
    return store(o[0], fmt::format("ptx::arrive_for_state({}, {}, {})", address(o[1], space_of(i)),
                                   as("unsigned", o[2]), order));
  if (what == "pending_count" && o.size() == 2) return store(o[0], fmt::format("{} >> 1", as("uint64_t", o[1])));
  if (what == "arrive_drop" && !i.has("expect_tx") && o.size() == 2 && o[0] == "_")
    return fmt::format("{}.arrive_and_drop({});", barrier(o[1]), order);
  if ((what == "expect_tx" || what == "complete_tx") && o.size() == 2)
    return fmt::format("{}.expect({}{});", barrier(o[0]), what == "expect_tx" ? "" : "-", as("int64_t", o[1]));
  if ((what == "try_wait" || what == "test_wait") && o.size() >= 3 && only_waits_)
    return fmt::format("ptx::wait({}, {} & 1u, {}); {}", address(o[1], space_of(i)), as("unsigned", o[2]), order,
                       store(o[0], "true"));
  if ((what == "try_wait" || what == "test_wait") && o.size() >= 3)
    return store(o[0], fmt::format("{}.try_wait({} & 1u, {})", barrier(o[1]), as("unsigned", o[2]), order));
  return "";
}

std::string ptx_translator::copies(const instruction& i) {
  const auto& o = i.operands;
  if (i.name() == "tensormap") return tensor_map_fields(i);
  if (i.begins({"cp", "reduce", "async", "bulk"})) return i.has("tensor") ? tensor_copies(i) : bulk_reductions(i);
  if (!i.begins({"cp", "async"})) return "";
  if (i.has("commit_group") && i.has("bulk")) return "::simt::bulk_store_commit();";
  if (i.has("wait_group") && i.has("bulk") && o.size() == 1)
    return fmt::format("::simt::wait_for_bulk_stores({}, {});", as("unsigned", o[0]), i.has("read"));
  if (i.has("commit_group")) return "::simt::cp_async_commit();";
  if (i.has("wait_group") && o.size() == 1) return fmt::format("::simt::async_wait({});", as("unsigned", o[0]));
  if (i.has("wait_all")) return "::simt::cp_async_commit(); ::simt::async_wait(0);";
  if (i.has("tensor")) return tensor_copies(i);
  if (i.begins({"cp", "async", "mbarrier", "arrive"}) && o.size() == 1)
    return fmt::format("ptx::barrier_at({}).arrive_when_copied({});", address(o[0], space_of(i)), i.has("noinc"));
  if (!i.has("bulk")) {
    const bool known = (i.has("ca") || i.has("cg")) && i.has("global") && (i.has("shared") || i.has("shared::cta"));
    if (!known || o.size() < 3 || o.size() > 5) return "";
    const bool cuts = o.size() >= 4 && !i.has("L2::cache_hint");
    return fmt::format("ptx::copy_async({}, {}, {}, {});", address(o[0], k_own), address(o[1], k_generic),
                       as("unsigned", o[2]), as("unsigned", cuts ? o[3] : o[2]));
  }
  if (i.has("prefetch") && o.size() >= 2)
    return fmt::format("::simt::bulk_prefetch({}, {});", address(o[0], k_generic), as("unsigned", o[1]));
  if (i.has("bulk_group") && i.begins({"cp", "async", "bulk", "global", "shared::cta"}) && o.size() >= 3)
    return fmt::format("::simt::bulk_store({}, {}, {});", address(o[0], k_generic), address(o[1], k_own),
                       as("unsigned", o[2]));
  if (!i.has("mbarrier::complete_tx::bytes") || o.size() < 4) return "";
  const address_space space = i.opcode[3] == "shared::cta" ? k_own : k_cluster;
  const std::string to = address(o[0], space), bytes = as("unsigned", o[2]);
  const std::string barrier = fmt::format("&ptx::barrier_at({})", address(o[3], space));
  if (i.begins({"cp", "async", "bulk", "shared::cluster", "shared::cta"}))
    return fmt::format("::simt::bulk_copy_remote({}, {}, {}, {});", to, address(o[1], k_own), bytes, barrier);
  if (!i.has("global")) return "";
  const std::string from = address(o[1], k_generic);
  if (i.has("multicast::cluster") && o.size() >= 5)
    return fmt::format("::simt::bulk_copy_multicast({}, {}, {}, {}, {});", to, from, bytes, barrier,
                       as("uint16_t", o[4]));
  return fmt::format("::simt::bulk_copy({}, {}, {}, {});", to, from, bytes, barrier);
}

// cp.async.bulk.tensor.Nd, its prefetch and its reductions, of boxes (.tile) and pixels (.im2col). The offsets of
// pixels follow the operands of a tile.
std::string ptx_translator::tensor_copies(const instruction& i) {
  const auto& o = i.operands;
  size_t dimensions = 0;
  for (const std::string& part : i.opcode)
    if (part.size() == 2 && part[0] >= '1' && part[0] <= '5' && part[1] == 'd') dimensions = part[0] - '0';
  const bool is_later = std::ranges::any_of(i.opcode, [](const std::string& part) {
    return part.starts_with("im2col::") || part.starts_with("tile::") || part == "cta_group::2";
  });
  const bool has_offsets = i.has("im2col"), is_im2col = has_offsets || i.has("im2col_no_offs");
  if (dimensions == 0 || is_later || o.empty() || (is_im2col && dimensions < 3)) return "";
  const auto place = [&](size_t at, size_t offsets) {
    return box(o[at], dimensions, is_im2col, has_offsets && offsets < o.size() ? o[offsets] : "");
  };
  if (i.has("prefetch")) return fmt::format("::simt::tensor_prefetch({});", place(0, 1));
  if (i.has("bulk_group") && i.has("global") && i.has("shared::cta") && o.size() >= 2) {
    const std::string how = i.opcode[1] == "reduce" ? reduction_of(i) : "none";
    if (how.empty() || has_offsets) return "";
    return fmt::format("::simt::tensor_store({}, {}, ::simt::tensor_reduction::{});", place(0, 0), address(o[1], k_own),
                       how);
  }
  if (!i.has("mbarrier::complete_tx::bytes") || !i.has("global") || o.size() < 3) return "";
  const address_space space = i.has("shared::cta") ? k_own : k_cluster;
  const size_t mask = has_offsets ? 4 : 3;
  const bool is_multicast = i.has("multicast::cluster");
  if (is_im2col != has_offsets || (is_multicast && o.size() <= mask)) return "";
  return fmt::format("::simt::tensor_load({}, {}, &ptx::barrier_at({}), {});", address(o[0], space), place(1, 3),
                     address(o[2], space), is_multicast ? as("uint16_t", o[mask]) : "uint16_t{0}");
}

// tensormap.replace.tile.FIELD [map], (ordinal,) value; tensormap.cp_fenceproxy.global.shared::cta [to], [from], 128.
std::string ptx_translator::tensor_map_fields(const instruction& i) {
  const auto& o = i.operands;
  if (i.begins({"tensormap", "cp_fenceproxy", "global", "shared::cta", "tensormap::generic", "release"}) &&
      o.size() == 3)
    return fmt::format("::simt::copy_map(ptx::map_at({}), ptx::map_at({}), {});", address(o[0], k_generic),
                       address(o[1], k_own), scope_of(i));
  if (!i.begins({"tensormap", "replace", "tile"}) || i.opcode.size() < 6 || o.size() < 2) return "";
  static const std::set<std::string_view> fields = {"global_address", "rank",           "box_dim",  "global_dim",
                                                    "global_stride",  "element_stride", "elemtype", "interleave_layout",
                                                    "swizzle_mode",   "fill_mode"};
  if (!fields.contains(i.opcode[3])) return "";
  return fmt::format("::simt::replace_in_map(ptx::map_at({}), ::simt::tensor_field::{}, {}, {});",
                     address(o[0], space_of(i)), i.opcode[3], o.size() == 3 ? as("unsigned", o[1]) : "0u",
                     as("uint64_t", o.back()));
}

// cp.reduce.async.bulk.global.shared::cta.bulk_group.OP.TYPE [to], [from], bytes
std::string ptx_translator::bulk_reductions(const instruction& i) {
  const auto& o = i.operands;
  const std::string element = element_of(i), how = reduction_of(i);
  if (!i.has("bulk_group") || !i.has("global") || !i.has("shared::cta") || o.size() < 3 || how.empty() ||
      element.empty())
    return "";
  return fmt::format("::simt::bulk_reduce({}, {}, {}, ::simt::tensor_element::{}, ::simt::tensor_reduction::{});",
                     address(o[0], k_generic), address(o[1], k_own), as("unsigned", o[2]), element, how);
}

std::string ptx_translator::memory(const instruction& i) {
  const auto& o = i.operands;
  if (i.name() == "isspacep" && o.size() == 2)
    return i.has("shared") || i.has("shared::cta") || i.has("shared::cluster") || i.has("global")
               ? store(o[0], fmt::format("{}::simt::is_shared(reinterpret_cast<const void*>({}))",
                                         i.has("global") ? "!" : "", as("uint64_t", o[1])))
               : "";
  if (i.name() == "createpolicy" && !o.empty()) return store(o[0], "uint64_t{0}");  // how long caches keep a line
  if (i.name() == "getctarank" && o.size() == 2 && space_of(i) != k_generic)
    return store(o[0], fmt::format("ptx::rank_of({})", as("uint32_t", o[1])));
  if (i.name() == "cvta" && o.size() == 2) {
    if (space_of(i) == k_generic) return store(o[0], as("uint64_t", o[1]));
    return store(o[0], i.has("to") ? fmt::format("ptx::window_address({})", as("uint64_t", o[1]))
                                   : fmt::format("ptx::generic_pointer({})", as("uint32_t", o[1])));
  }
  if (i.name() == "mapa" && o.size() == 3 && space_of(i) != k_generic)
    return store(o[0], fmt::format("ptx::remote_address({}, {})", as("uint32_t", o[1]), as("unsigned", o[2])));
  if (i.begins({"st", "async"}) && o.size() == 3 && i.has("mbarrier::complete_tx::bytes") && !i.type().empty()) {
    const std::string type = i.type();
    std::string code = fmt::format("const {0} simt_v[] = {1}; auto* const simt_p = reinterpret_cast<{0}*>({2});", type,
                                   array(type.c_str(), o[1]), address(o[0], k_cluster));
    for (size_t k = 0; k < vector(o[1]).size(); ++k)
      code += fmt::format(" ::simt::store_remote(&ptx::barrier_at({}), simt_p + {}, simt_v[{}]);",
                          address(o[2], k_cluster), k, k);
    return code;
  }
  if (i.begins({"red", "async"}) && o.size() == 3 && i.has("mbarrier::complete_tx::bytes")) {
    const std::string element = element_of(i), how = reduction_of(i);
    return element.empty() || how.empty()
               ? ""
               : fmt::format(
                     "::simt::async_reduce(&ptx::barrier_at({}), {}, {}, ::simt::tensor_element::{}, "
                     "::simt::tensor_reduction::{});",
                     address(o[2], k_cluster), address(o[0], k_cluster), as("uint64_t", o[1]), element, how);
  }
  if (i.begins({"mapa", "u64"}) && o.size() == 3)
    return store(o[0],
                 fmt::format("reinterpret_cast<uint64_t>(::simt::map_shared_rank(reinterpret_cast<char*>({}), {}))",
                             as("uint64_t", o[1]), as("unsigned", o[2])));
  const bool loads = i.name() == "ld" || i.name() == "ldu", stores = i.name() == "st";
  const std::string type = i.type();
  if (type.empty() || i.has("async")) return "";
  if ((loads || stores) && o.size() >= 2) {
    const bool ordered = i.has("acquire") || i.has("release") || i.has("relaxed") || i.has("volatile");
    const words values = vector(loads ? o[0] : o[1]);
    const std::string place = address(loads ? o[1] : o[0], space_of(i));
    if (ordered && type.find("32") == std::string::npos && type.find("64") == std::string::npos && type != "float")
      return "";
    if (ordered) return ordered_access(i, loads ? o[0] : o[1], place);
    if (loads) {
      std::string code =
          fmt::format("{0} simt_v[{1}]; ptx::load(simt_v, {2}, {3});", type, values.size(), place, i.has("nc"));
      for (size_t k = 0; k < values.size(); ++k) code += " " + store(values[k], fmt::format("simt_v[{}]", k));
      return code;
    }
    return fmt::format("const {} simt_v[{}] = {}; ptx::store({}, simt_v);", type, values.size(),
                       array(type.c_str(), o[1]), place);
  }
  return i.name() == "atom" || i.name() == "red" ? atomic(i, type) : "";
}

// A load or store with a memory order, of one element after the other. An acquiring load fences after the last one, a
// releasing store before the first one.
std::string ptx_translator::ordered_access(const instruction& i, const std::string& values, const std::string& place) {
  const std::string type = i.type(), scope = i.has("volatile") ? k_device_scope : scope_of(i);
  const words list = vector(values);
  std::string code = fmt::format("char* const simt_p = {};", place);
  for (size_t k = 0; k < list.size(); ++k) {
    const std::string at = fmt::format("simt_p + {} * sizeof({})", k, type);
    if (i.name() == "st")
      code +=
          fmt::format(" ptx::store_ordered({}, {}, {}, {});", at, as(type, list[k]), k == 0 && i.has("release"), scope);
    else
      code += " " + store(list[k], fmt::format("ptx::load_ordered<{}>({}, {}, {})", type, at,
                                               k + 1 == list.size() && i.has("acquire"), scope));
  }
  return code;
}

std::string ptx_translator::atomic(const instruction& i, const std::string& type) {
  const auto& o = i.operands;
  const size_t first = i.name() == "atom" ? 1 : 0;
  static const std::map<std::string_view, const char*> functions = {
      {"add", "Add"}, {"min", "Min"},   {"max", "Max"}, {"and", "And"}, {"or", "Or"},
      {"xor", "Xor"}, {"exch", "Exch"}, {"inc", "Inc"}, {"dec", "Dec"}, {"cas", "CAS"}};
  const char* function = nullptr;
  for (const std::string& part : i.opcode)
    if (const auto at = functions.find(part); at != functions.end()) function = at->second;
  const size_t values = function != nullptr && std::string_view(function) == "CAS" ? 2 : 1;
  if (i.has("L2::cache_hint") && o.size() == first + 2 + values) {  // the last operand
    instruction plain = i;
    plain.operands.pop_back();
    std::erase(plain.opcode, "L2::cache_hint");
    return memory(plain);
  }
  if (function == nullptr || o.size() != first + 1 + values) return "";
  if (const bool is_vector = o.back()[0] == '{'; is_vector || type.starts_with("ptx::"))
    return i.has("add") ? sums_in_memory(i, type) : "";
  const bool releases = i.has("acq_rel") || i.has("release"), acquires = i.has("acq_rel") || i.has("acquire");
  const std::string t = type == "uint64_t"  ? "unsigned long long"
                        : type == "int64_t" ? (i.has("min") || i.has("max") ? "long long" : "unsigned long long")
                                            : type;
  std::string call = fmt::format("::atomic{}{}(reinterpret_cast<{}*>({})", function, i.has("cta") ? "_block" : "", t,
                                 address(o[first], space_of(i)));
  for (size_t k = 0; k < values; ++k) call += ", " + as(t, o[first + 1 + k]);
  call += ")";
  const std::string fence = fmt::format("::simt::fence({}, ::simt::fence_order::acquire_release);", scope_of(i));
  const std::string access = first == 1 ? store(o[0], call) : call + ";";
  return fmt::format("{} {} {}", releases ? fence : "", access, acquires ? fence : "");
}

// atom.add of 16-bit reals and pairs of them, and red.add of vectors, one element after the other.
std::string ptx_translator::sums_in_memory(const instruction& i, const std::string& type) {
  const auto& o = i.operands;
  const size_t first = i.name() == "atom" ? 1 : 0;
  const words values = vector(o.back());
  const char* const function = type.starts_with("ptx::") ? "::simt::import::atomic_sum" : "::atomicAdd";
  std::string code =
      fmt::format("auto* const simt_p = reinterpret_cast<{}*>({});", type, address(o[first], space_of(i)));
  for (size_t k = 0; k < values.size(); ++k) {
    const std::string call = fmt::format("{}(simt_p + {}, {})", function, k, as(type, values[k]));
    const words to = first == 1 ? vector(o[0]) : words{};
    if (first == 1 && to.size() != values.size()) return "";
    code += " " + (first == 1 ? store(to[k], call) : call + ";");
  }
  return code;
}

std::string ptx_translator::warp(const instruction& i) {
  const auto& o = i.operands;
  if (i.begins({"shfl", "sync"}) && o.size() == 5) {
    const std::string name = i.has("idx")    ? ""
                             : i.has("up")   ? "up_"
                             : i.has("down") ? "down_"
                             : i.has("bfly") ? "xor_"
                                             : "?";
    const words to = split_ptx(o[0], '|');
    if (name == "?" || to.empty() || to.size() > 2) return "";
    const std::string lane = as("int", o[2]), segments = as("unsigned", o[3]);
    std::string code;
    if (to.size() == 2)  // first, because the lane may be in the register of the result
      code = fmt::format("const bool simt_in = ptx::lane_is_in_range('{}', {}, {}); ", name.empty() ? 'i' : name[0],
                         lane, segments);
    code += store(to[0], fmt::format("::__shfl_{}sync({}, {}, {}, ptx::width({}))", name, as("unsigned", o[4]),
                                     as("uint32_t", o[1]), lane, segments));
    return to.size() == 2 ? code + " " + store(to[1], "simt_in") : code;
  }
  if (i.begins({"vote", "sync", "ballot"}) && o.size() == 3)
    return store(o[0], fmt::format("::__ballot_sync({}, {})", as("unsigned", o[2]), as("bool", o[1])));
  if (i.begins({"vote", "sync"}) && (i.has("any") || i.has("all")) && o.size() == 3)
    return store(o[0], fmt::format("::__{}_sync({}, {}) != 0", i.has("any") ? "any" : "all", as("unsigned", o[2]),
                                   as("bool", o[1])));
  if (i.begins({"vote", "sync", "uni"}) && o.size() == 3)
    return store(o[0], fmt::format("ptx::is_uniform({}, {})", as("unsigned", o[2]), as("bool", o[1])));
  if (i.begins({"match", "all", "sync"}) && o.size() == 3) {
    const words to = split_ptx(o[0], '|');
    if (to.empty() || to.size() > 2) return "";
    const std::string code =
        fmt::format("int simt_same = 0; const unsigned simt_m = ::__match_all_sync({}, {}, &simt_same); ",
                    as("unsigned", o[2]), as(i.type(), o[1]));
    return code + store(to[0], "simt_m") + (to.size() == 2 ? " " + store(to[1], "simt_same != 0") : "");
  }
  if (i.name() == "activemask" && o.size() == 1) return store(o[0], "::__activemask()");
  if (i.begins({"match", "any", "sync"}) && o.size() == 3)
    return store(o[0], fmt::format("::__match_any_sync({}, {})", as("unsigned", o[2]), as(i.type(), o[1])));
  if (i.begins({"redux", "sync"}) && o.size() == 3 && !i.has("f32")) {
    for (const char* op : {"add", "min", "max", "and", "or", "xor"}) {
      const std::string t = i.has("s32") ? "int" : "unsigned";
      if (i.has(op))
        return store(o[0], fmt::format("::__reduce_{}_sync({}, {})", op, as("unsigned", o[2]), as(t, o[1])));
    }
  }
  if (i.begins({"elect", "sync"}) && o.size() == 2) {
    const words targets = split_ptx(o[0], '|');
    if (targets.size() != 2) return "";
    const std::string &lane = targets[0], &chosen = targets[1];
    return fmt::format("const bool simt_e = ::simt::elect_one(); {} {}", store(chosen, "simt_e"),
                       lane == "_" ? "" : store(lane, "0u"));
  }
  return "";
}

}  // namespace warpcheck::cli
