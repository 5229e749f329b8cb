#include "command/report/junit.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpcheck::cli {
namespace {

// ASCII only, so that no encoding can be wrong.
std::string escaped(const std::string& text) {
  std::string xml;
  for (const char c : text) {
    switch (c) {
      case '<': xml += "&lt;"; break;
      case '>': xml += "&gt;"; break;
      case '&': xml += "&amp;"; break;
      case '"': xml += "&quot;"; break;
      case '\n': xml += "&#10;"; break;
      default: xml += c >= ' ' && c <= '~' ? c : '?';
    }
  }
  return xml;
}

std::string case_xml(const junit_case& c) {
  const std::string head = fmt::format(R"(    <testcase classname="{}" name="{}" time="{:.3f}")", escaped(c.suite),
                                       escaped(c.name), c.seconds);
  if (!c.failure.empty())
    return fmt::format("{}>\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n", head,
                       escaped(c.failure), escaped(c.message), escaped(c.details));
  if (c.skipped)
    return fmt::format("{}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", head, escaped(c.message));
  return head + "/>\n";
}

std::string counts(const std::vector<const junit_case*>& cases) {
  double seconds = 0;
  int failures = 0, skipped = 0;
  for (const junit_case* c : cases) {
    seconds += c->seconds;
    failures += !c->failure.empty();
    skipped += c->failure.empty() && c->skipped;
  }
  return fmt::format(R"(tests="{}" failures="{}" errors="0" skipped="{}" time="{:.3f}")", cases.size(), failures,
                     skipped, seconds);
}

}  // namespace

std::string junit_xml(const std::vector<junit_case>& cases) {
  std::vector<const junit_case*> all;
  std::vector<std::string> suites;
  for (const junit_case& c : cases) {
    all.push_back(&c);
    if (std::ranges::find(suites, c.suite) == suites.end()) suites.push_back(c.suite);
  }
  std::string xml =
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"warpcheck\" {}>\n", counts(all));
  for (const std::string& suite : suites) {
    std::vector<const junit_case*> of;
    for (const junit_case& c : cases)
      if (c.suite == suite) of.push_back(&c);
    xml += fmt::format("  <testsuite name=\"{}\" {}>\n", escaped(suite), counts(of));
    for (const junit_case* c : of) xml += case_xml(*c);
    xml += "  </testsuite>\n";
  }
  return xml + "</testsuites>\n";
}

}  // namespace warpcheck::cli
