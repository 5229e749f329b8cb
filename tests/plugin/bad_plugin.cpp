// A plug-in that is wrong in the way that the environment variable WARPCHECK_TEST_WRONG names. Of one that is wrong in
// none, "none", the kernel alone is missing.
#include <cstdlib>
#include <string>

#include "golden/plugin.hpp"

namespace warpcheck {
namespace {

using namespace engine;

std::string wrong() {
  const char* const text = std::getenv("WARPCHECK_TEST_WRONG");
  return text ? text : "none";
}

std::vector<golden::golden_file> no_answers() { return {}; }
std::vector<std::string> no_disagreements(const golden::golden_file&) { return {}; }

property make_property(const std::string& name) {
  property p;
  p.op = wrong() == "property-of-another" ? "softmax" : "described";
  p.name = name;
  p.sentence = "it holds";
  p.types = {dtype::f32};
  p.generate = [](const target& t, draw&) { return make_case(*find_description(t.op), t, {}, {}); };
  p.check = [](trial&) {};
  return p;
}

operator_plugin make() {
  if (wrong() == "crash") std::abort();
  operator_plugin p;
  p.described = {"described", {{"rows"}}, {{"call", {{"x", true, "rows"}, {"y", false, "rows"}}}}};
  if (wrong() == "extent") p.described.forms[0].tensors[1].shape = "rows, columns";
  if (wrong() == "name") p.described.op = "Described";
  p.properties = {make_property("one"), make_property(wrong() == "property-twice" ? "one" : "two")};
  if (wrong() == "no-property") p.properties.clear();
  p.golden = {"described", no_answers, wrong() == "golden" ? nullptr : no_disagreements};
  if (wrong() == "operator") {
    p.described.op = p.golden.op = "softmax";
    for (property& one : p.properties) one.op = "softmax";
  }
  return p;
}

}  // namespace
}  // namespace warpcheck

extern "C" __attribute__((visibility("default"))) const warpcheck::plugin_table* warpcheck_plugin_get() {
  static warpcheck::plugin_table table = {warpcheck::k_plugin_abi, warpcheck::plugin_layout(), WARPCHECK_PLUGIN_SOURCE,
                                          WARPCHECK_PLUGIN_KERNEL, &warpcheck::make};
  if (warpcheck::wrong() == "abi") ++table.abi;
  if (warpcheck::wrong() == "layout") ++table.layout;
  return warpcheck::wrong() == "null" ? nullptr : &table;
}
