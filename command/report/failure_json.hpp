// A failure as verify and fuzz report it. An exception of its case becomes a sentence of the report.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "command/request.hpp"
#include "properties/engine/trials/explanation.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/verdict.hpp"

namespace warpcheck::cli {

// Returns the failure, repeated and shrunk (shrink.hpp); as it was first seen if that is impossible.
engine::case_report confirm_failure(const engine::case_report& seen, const engine::property& p, const run_request& r);

// The case report, and `sources`: the lines that its findings name, {"place": "softmax.cu:58", "file", "line", "text"},
// in the order of their first mention, once each. A file is searched beside a source that is the candidate, in the
// current folder, and in the source tree or the installed headers. A file that is missing, or found twice, has no text.
// Files of the tree are named from its root.
nlohmann::json failure_json(const engine::case_report& r);

// Returns its explanation, for which the case runs again (explain()): for at most this many seconds, and until `stop`
// is true.
engine::explanation explain_failure(const engine::case_report& r, const run_request& request);

// Adds `explanation` (explanation.hpp: title, sentences and table of each section) and, if a row is explained, `row`.
void add_explanation(nlohmann::json& failure, const engine::explanation& e);
// {"output", "row", "first", "element", "input", "exact", "bound", "actual"}: at most 512 elements around the one that
// is explained; `first` is the column of the first. `input` is empty if the output has no element for each of it.
nlohmann::json row_json(const engine::explanation& e);

// Now, in UTC, as ISO 8601: 2026-11-25T18:20:00Z.
std::string now_text();

}  // namespace warpcheck::cli
