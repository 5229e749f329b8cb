// The mutation machinery on trial: lists that do not fit are refused, and a kill can be seen again.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "command/candidates/toolchain.hpp"
#include "command/mutants/mutant_list.hpp"
#include "command/mutants/mutant_report.hpp"
#include "command/mutants/mutant_tests.hpp"
#include "command/mutants/mutant_trial.hpp"
#include "golden/check.hpp"
#include "properties/engine/error.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::environment_error;
using engine::usage_error;

class Mutants : public testing::Test {
 protected:
  Mutants() : folder_(fs::temp_directory_path() / fmt::format("warpcheck-mutants-test.{}", getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "kernels");
  }
  ~Mutants() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  // The sentence that refuses a list of this text.
  std::string refusal(const std::string& text) {
    try {
      for (const mutant& m : read_mutants(write("softmax.mutants", text)).mutants) mutated_text(m, folder_.string());
    } catch (const usage_error& e) {
      return e.what();
    }
    return "accepted";
  }

  const fs::path folder_;
};

TEST_F(Mutants, ListIsReadWithItsEscapes) {
  write("kernels/a.cu", "one\n\ttwo \\ three");
  const mutant_list list =
      read_mutants(write("softmax.mutants",
                         "# comment\nusual\tv1 case\nlacks\tindex, rows<2\tA-2 A-3\nA-1\tkernels/a.cu\tone\\n\\ttwo "
                         "\\\\\t\tlong-accumulation\nA-2\tkernels/a.cu\ttwo\t2\tmisalignment:race\n"
                         "A-3\tkernels/a.cu\tthree\t3\t*\n"));
  ASSERT_EQ(list.mutants.size(), 3u);
  EXPECT_EQ(list.usual, "v1 case");
  EXPECT_EQ(list.lacks, "index, rows<2");
  EXPECT_FALSE(list.mutants[0].needs_lacked);
  EXPECT_TRUE(list.mutants[1].needs_lacked && list.mutants[2].needs_lacked);
  EXPECT_EQ(list.mutants[0].op, "softmax");
  EXPECT_EQ(list.mutants[0].property, "long-accumulation");
  EXPECT_EQ(list.mutants[0].verdict, "");
  EXPECT_EQ(list.mutants[1].property, "misalignment");
  EXPECT_EQ(list.mutants[1].verdict, "race");
  EXPECT_EQ(list.mutants[2].property, "");
  EXPECT_EQ(list.mutants[1].place, "softmax.mutants:5");
  EXPECT_EQ(mutated_text(list.mutants[0], folder_.string()), " three");
  EXPECT_EQ(mutated_text(list.mutants[1], folder_.string()), "one\n\t2 \\ three");
}

TEST_F(Mutants, ListThatDoesNotFitIsRefusedWithFileAndLine) {
  write("kernels/a.cu", "one two two  // four");
  EXPECT_EQ(refusal("A\tkernels/a.cu\tone\t1\tlong-accumulation\n"), "accepted");
  EXPECT_EQ(refusal(""), fmt::format("{}: it has no mutant", (folder_ / "softmax.mutants").string()));
  EXPECT_EQ(refusal("# only a comment\n"), fmt::format("{}: it has no mutant", (folder_ / "softmax.mutants").string()));
  EXPECT_EQ(refusal("A\tkernels/a.cu\tone\t1\n"),
            "softmax.mutants:1: the line has 4 columns; id, file, old text, new text and expected killer are required, "
            "tab separated");
  EXPECT_EQ(refusal("\nA\tkernels/a.cu\t\t1\tlong-accumulation\n"),
            "softmax.mutants:2: only the new text may be empty, not the other columns");
  EXPECT_EQ(refusal("A\tkernels/a.cu\ton\\e\t1\tlong-accumulation\n"),
            "softmax.mutants:1: a backslash is followed by 'e'; only \\n, \\t and \\\\ are known");
  EXPECT_EQ(refusal("A/B\tkernels/a.cu\tone\t1\tlong-accumulation\n"),
            "softmax.mutants:1: id 'A/B' may hold letters, digits, '-', '_' and '.' only");
  EXPECT_EQ(refusal("A\tkernels/a.cu\tone\t1\tlong-accumulation\nA\tkernels/a.cu\tone\t1\tlong-accumulation\n"),
            "softmax.mutants:2: id 'A' occurs twice");
  EXPECT_EQ(refusal("lacks\tindex\tA B\nA\tkernels/a.cu\tone\t1\tlong-accumulation\n"),
            "softmax.mutants:1: no mutant is called 'B'");
  EXPECT_EQ(refusal("A\tkernels/a.cu\tone\t1\tno-such\n"),
            "softmax.mutants:1: A: 'no-such' is not a property of softmax");
  EXPECT_EQ(refusal("A\tkernels/a.cu\tone\t1\tlong-accumulation:sad\n"),
            "softmax.mutants:1: A: 'sad' is not a verdict");
  EXPECT_EQ(refusal("A\tkernels/a.cu\ttwo\t2\tlong-accumulation\n"),
            "softmax.mutants:1: A: the old text occurs 2 times in kernels/a.cu, it must occur exactly once");
  EXPECT_EQ(refusal("A\tkernels/a.cu\tthree\t3\tlong-accumulation\n"),
            "softmax.mutants:1: A: the old text occurs 0 times in kernels/a.cu, it must occur exactly once");
  EXPECT_EQ(refusal("A\tkernels/a.cu\tfour\t4\tlong-accumulation\n"),
            "softmax.mutants:1: A: the old text stands in a comment of kernels/a.cu");
}

TEST_F(Mutants, EveryCommittedMutantFitsTheSources) {
  // Golden data register the property of that name.
  ASSERT_FALSE(golden::all_operators().empty());
  for (const fs::directory_entry& e : fs::directory_iterator(fs::path(WARPCHECK_ROOT) / "ci/mutate")) {
    if (e.path().extension() != ".mutants") continue;
    const mutant_list list = read_mutants(e.path().string());
    for (const mutant& m : list.mutants) EXPECT_NO_THROW(mutated_text(m, WARPCHECK_ROOT)) << m.place;
    // No array of normal numbers is a table of bins and features.
    EXPECT_EQ(list.usual.empty(), e.path().stem() == "best_split") << e.path();
  }
}

// Of a property that needs a statement, a kernel that does not make the statement may have failures without a bug.
TEST_F(Mutants, OnlyPropertiesThatAreAskedOfTheOperatorKill) {
  engine::target t;
  t.op = "softmax";
  const auto kills = [&](const std::string& property) {
    const std::vector<const engine::property*> killers = killers_of(t);
    return std::ranges::any_of(killers,
                               [&](const engine::property* p) { return p->op == t.op && p->name == property; });
  };
  EXPECT_TRUE(kills("within-error-bound"));
  EXPECT_FALSE(kills("batch-invariance"));
  t.offered.is_batch_invariant = true;
  EXPECT_TRUE(kills("batch-invariance"));
  t.op = "matmul";
  EXPECT_FALSE(kills("ieee-bits"));
  t.offered.has_our_plan = true;
  EXPECT_TRUE(kills("ieee-bits"));
  t.type = dtype::i64;
  EXPECT_TRUE(killers_of(t).empty());
}

TEST_F(Mutants, SampleIsDrawnByTheSeedAndNeverEmpty) {
  std::vector<mutant> all(17);
  for (size_t i = 0; i < all.size(); ++i) all[i].id = fmt::format("A-{}", i);
  const auto ids = [](const std::vector<mutant>& mutants) {
    std::vector<std::string> list;
    for (const mutant& m : mutants) list.push_back(m.id);
    return list;
  };
  const std::vector<std::string> sample = ids(sample_of(all, 8, 1));
  EXPECT_EQ(sample.size(), 3u);
  EXPECT_EQ(ids(sample_of(all, 8, 1)), sample);
  EXPECT_EQ(ids(sample_of(all, 1, 1)), ids(all));
  EXPECT_EQ(sample_of({all.begin(), all.begin() + 3}, 8, 1).size(), 1u);
  // Every mutant is in the sample of some seed.
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 100; ++seed)
    for (const std::string& id : ids(sample_of(all, 8, seed))) seen.insert(id);
  EXPECT_EQ(seen.size(), all.size());
  // A list that grows by one keeps its sample, but for one mutant.
  all.emplace_back().id = "B";
  const std::vector<std::string> grown = ids(sample_of(all, 8, 1));
  EXPECT_GE(std::ranges::count_if(grown, [&](const std::string& id) { return std::ranges::count(sample, id) > 0; }), 2);
}

TEST_F(Mutants, ListOfAPartOfTheSuiteTakesNoProperty) {
  const std::string line = "A\treference/numerics/compare.hpp\tone\t1\t";
  EXPECT_TRUE(read_mutants(write("softmax.mutants", line + "=\n")).mutants[0].equivalent);
  EXPECT_TRUE(read_mutants(write("softmax.mutants", line + "*\n")).mutants[0].kernel);
  EXPECT_FALSE(read_mutants(write("comparator.mutants", line + "*\n")).mutants[0].kernel);
  EXPECT_THROW(read_mutants(write("comparator.mutants", line + "depth\n")), usage_error);
}

TEST_F(Mutants, EveryListedEquivalentFitsTheSources) {
  for (const fs::directory_entry& e : fs::directory_iterator(fs::path(WARPCHECK_ROOT) / "ci/mutate")) {
    if (e.path().extension() != ".equivalent") continue;
    // The columns of a list, but for the id, and the reason in place of the killer.
    std::istringstream lines(read_text(e.path().string()));
    std::string list;
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line[0] == '#') continue;
      const size_t reason = line.rfind('\t');
      ASSERT_GT(line.size(), reason + 20) << e.path() << ": a reason is missing: " << line;
      list += fmt::format("{}\t{}\t=\n", ++number, line.substr(0, reason));
    }
    for (const mutant& m : read_mutants(write("softmax.mutants", list)).mutants)
      EXPECT_NO_THROW(mutated_text(m, WARPCHECK_ROOT)) << e.path() << ", entry " << m.id;
  }
}

TEST_F(Mutants, ScoreThatGoesDownFailsTheGate) {
  const auto score = [](int64_t killed, int64_t judged) {
    mutant_score s;
    s.all = judged;
    s.killed = killed;
    return std::map<std::string, mutant_score>{{"bounds", s}};
  };
  const std::string path = write("scores", "# comment\nbounds\t9\t10\ndevice\t5\t5\n");
  EXPECT_TRUE(holds_scores(score(9, 10), path));
  EXPECT_TRUE(holds_scores(score(18, 20), path));
  EXPECT_FALSE(holds_scores(score(8, 10), path));
  EXPECT_FALSE(holds_scores(score(17, 20), path));
  EXPECT_TRUE(holds_scores({{"new", score(0, 3).at("bounds")}}, path));
  for (const char* line : {"bounds", "bounds 9", "bounds 9 8", "bounds 9 10 11", "bounds x 10"})
    EXPECT_THROW(holds_scores(score(9, 10), write("scores", std::string(line) + "\n")), usage_error) << line;
}

TEST_F(Mutants, WhatDoesNotCompileOrIsEquivalentIsLeftOutOfTheScore) {
  mutant_score s;
  tried_mutant t;
  t.m.kernel = true;
  t.result.emplace();
  s.add(t);  // survived
  t.result->kill.emplace();
  t.result->coarse_rejects = true;
  s.add(t);
  t.result->kill.reset();
  t.result->same_code = true;
  s.add(t);
  t.result->same_code = false;
  t.result->compile_error = "no";
  s.add(t);
  t.result.reset();
  t.m.equivalent = true;
  s.add(t);
  EXPECT_EQ(s.all, 5);
  EXPECT_EQ(s.stillborn, 1);
  EXPECT_EQ(s.equivalent, 2);
  EXPECT_EQ(s.judged(), 2);
  EXPECT_EQ(s.killed, 1);
  EXPECT_EQ(s.coarse, 1);
  EXPECT_EQ(s.kernels, 2);
}

TEST_F(Mutants, EveryPartOfTheSuiteHasItsJudges) {
  const toolchain t = toolchain::load(WARPCHECK_BUILD);
  test_judges judges(WARPCHECK_ROOT "/ci/mutate/judges", t);
  mutant m;
  for (const char* file :
       {"reference/numerics/compare.hpp", "reference/softmax/softmax.cpp", "properties/engine/cases/recipe.cpp",
        "properties/rows/row_inputs.cpp", "simt/emulated/memory.cpp"}) {
    m.file = file;
    EXPECT_FALSE(judges.of(m).empty()) << file;
  }
  m.file = "kernels/softmax/softmax.cu";
  EXPECT_TRUE(judges.judge(m));
  EXPECT_EQ(judges.of(m)[0]->name, "nightly.long_rows.softmax_loop");
  m.file = "golden/reader.cpp";
  EXPECT_FALSE(judges.judge(m));
  EXPECT_THROW(judges.of(m), usage_error);
  EXPECT_THROW(test_judges(write("judges", "reference/\tno.such.test\n"), t), usage_error);
  EXPECT_THROW(test_judges(write("judges", "reference/\t\n"), t), usage_error);
  EXPECT_THROW(test_judges(write("judges", "reference/\n"), t), usage_error);
}

TEST_F(Mutants, ToolchainReportsWhatTheCompilerSays) {
  const toolchain t = toolchain::load(WARPCHECK_BUILD);
  compilation c;
  c.sources = {write("broken.cpp", "int f( { return 0; }\n")};
  c.output = (folder_ / "broken.so").string();
  EXPECT_NE(t.compile(c).find("broken.cpp:1:"), std::string::npos);
  EXPECT_FALSE(fs::exists(c.output));
  c.sources = {write("missing.cpp", "int g(); int f() { return g(); }\n")};
  EXPECT_NE(t.compile(c).find("undefined reference"), std::string::npos);
  EXPECT_FALSE(fs::exists(c.output));
  c.sources = {write("right.cpp", "int f() { return 0; }\n")};
  EXPECT_EQ(t.compile(c), "");
  EXPECT_TRUE(fs::exists(c.output));
  EXPECT_FALSE(fs::exists(c.output + ".parts"));
  // A billion calls at compile time, none of them twice.
  c.sources = {write("endless.cpp",
                     "constexpr long f(int n, long s) { return n == 0 ? s : f(n - 1, 2 * s) + f(n - 1, 2 * s + 1); }\n"
                     "constexpr long v = f(30, 1);\nlong g() { return v; }\n")};
  c.options = {"-fconstexpr-ops-limit=1000000000000"};
  c.cpu_seconds = 1;
  EXPECT_NE(t.compile(c).find("Killed"), std::string::npos);
  c.cpu_seconds = 0;
  c.options.clear();
  c.flavour = "sour";
  EXPECT_THROW(t.compile(c), environment_error);
}

TEST_F(Mutants, ToolchainThatIsGoneIsAnEnvironmentError) {
  const auto sentence = [&](const std::string& key, const std::string& value) -> std::string {
    nlohmann::json json = nlohmann::json::parse(read_text(WARPCHECK_BUILD "/warpcheck_toolchain.json"));
    if (key == "libraries" || key == "includes")
      json["flavours"]["plain"][key][0] = value;
    else
      json[key] = value;
    write("warpcheck_toolchain.json", json.dump());
    try {
      toolchain::load(folder_.string());
    } catch (const environment_error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(sentence("compiler", "/no/such-c++"),
            "toolchain: the compiler '/no/such-c++' that this build was made with is missing; install the package g++");
  EXPECT_EQ(
      sentence("objcopy", "/no/such-objcopy"),
      "toolchain: objcopy '/no/such-objcopy' that this build was made with is missing; install the package binutils");
  EXPECT_EQ(sentence("libraries", "/no/lib.a"),
            "toolchain: the library '/no/lib.a' that this build was made with is missing");
  EXPECT_EQ(sentence("includes", "/no/include"),
            "toolchain: the include folder '/no/include' that this build was made with is missing");
  write("warpcheck_toolchain.json", "{");
  EXPECT_THROW(toolchain::load(folder_.string()), environment_error);
  EXPECT_THROW(toolchain::load((folder_ / "kernels").string()), environment_error);
}

// The toolchain of this build with another nvcc and other include folders for it.
class CudaToolchain : public Mutants {
 protected:
  toolchain with(const std::string& nvcc, const std::vector<std::string>& includes) {
    nlohmann::json json = nlohmann::json::parse(read_text(WARPCHECK_BUILD "/warpcheck_toolchain.json"));
    json["cuda"] = {{"compiler", nvcc}, {"includes", includes}};
    write("warpcheck_toolchain.json", json.dump());
    return toolchain::load(folder_.string());
  }
  std::string refusal_of(const std::string& nvcc, const std::vector<std::string>& includes) {
    try {
      return with(nvcc, includes).compile_cuda("a.cu", (folder_ / "a.so").string());
    } catch (const environment_error& e) {
      return e.what();
    }
  }
  // A program that does as `script` says.
  std::string program(const std::string& script) {
    const std::string path = write("nvcc", "#!/bin/sh\n" + script);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
};

TEST_F(CudaToolchain, GivesNvccTheIncludeFoldersOfTheBuild) {
  const std::string root = folder_.string();
  fs::create_directories(folder_ / "one");
  fs::create_directories(folder_ / "two");
  const std::string words = root + "/words", output = root + "/a.so";
  const std::string nvcc = program("printf '%s\\n' \"$@\" > " + words + "\nfor last; do :; done\n: > \"$last\"\n");
  const toolchain t = with(nvcc, {root + "/one", "", root + "/two", root + "/one"});
  EXPECT_EQ(t.compile_cuda("a.cu", output), "");
  EXPECT_TRUE(fs::exists(output));
  EXPECT_FALSE(fs::exists(output + ".parts"));
  std::istringstream lines(read_text(words));
  std::vector<std::string> includes;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("-I")) includes.push_back(line);
  EXPECT_EQ(includes, (std::vector<std::string>{"-I" + root + "/one", "-I" + root + "/two"}));
}

TEST_F(CudaToolchain, SaysWhatIsMissingAndWhatNvccSays) {
  EXPECT_EQ(refusal_of("", {}),
            "toolchain: this build has no nvcc; the preset cuda (WARPCHECK_CUDA=ON) makes one that has");
  EXPECT_EQ(refusal_of("/no/nvcc", {}),
            "toolchain: the compiler '/no/nvcc' that this build was made with is missing; install the CUDA Toolkit");
  EXPECT_EQ(refusal_of(program("exit 0"), {"/no/include"}),
            "toolchain: the include folder '/no/include' that this build was made with is missing");
  EXPECT_EQ(refusal_of(program("echo no such thing >&2; exit 2"), {}), "no such thing\n");
  EXPECT_EQ(refusal_of(program("exit 2"), {}), "nvcc ended with status 2");
  EXPECT_FALSE(fs::exists(folder_ / "a.so"));
}

TEST_F(CudaToolchain, MakesALibraryOfWhatACandidateIncludes) {
  const nlohmann::json recorded =
      nlohmann::json::parse(read_text(WARPCHECK_BUILD "/warpcheck_toolchain.json")).at("cuda");
  const std::string nvcc = recorded.at("compiler");
  const std::string source = write("a.cu",
                                   "#include <only_there.hpp>\n#include \"simt/import/entry.hpp\"\n"
                                   "extern \"C\" int warpcheck_test() { return k_only_there; }\n");
  fs::create_directories(folder_ / "elsewhere");
  write("elsewhere/only_there.hpp", "constexpr int k_only_there = 1;\n");
  const std::string output = (folder_ / "a.so").string();
  if (nvcc.empty()) {
    EXPECT_THROW(toolchain::load(WARPCHECK_BUILD).compile_cuda(source, output), environment_error);
    return;
  }
  auto includes = recorded.at("includes").get<std::vector<std::string>>();
  EXPECT_NE(with(nvcc, includes).compile_cuda(source, output).find("only_there.hpp"), std::string::npos);
  includes.push_back((folder_ / "elsewhere").string());
  EXPECT_EQ(with(nvcc, includes).compile_cuda(source, output), "");
  EXPECT_TRUE(fs::exists(output));
}

TEST_F(Mutants, KilledMutantsAreKilledAgainByTheirReplayLine) {
  const std::string json = (folder_ / "out.json").string();
  // Those that test mutant.softmax tried, whose results are kept.
  const command_result trial = run_command({WARPCHECK_COMMAND, "mutants", "softmax", "--one-in", "8", "--json", json});
  ASSERT_EQ(trial.status, 0) << trial.output;
  const nlohmann::json result = nlohmann::json::parse(read_text(json));
  ASSERT_GE(result.at("mutants").size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    const nlohmann::json& m = result.at("mutants").at(i);
    const nlohmann::json& kill = m.at("kill");
    const command_result replay = run_command({WARPCHECK_COMMAND, "replay", kill.at("line")});
    EXPECT_EQ(replay.status, 1) << m.at("id") << "\n" << replay.output;
    EXPECT_NE(replay.output.find(kill.at("message").get<std::string>()), std::string::npos) << replay.output;
  }
}

TEST_F(Mutants, MutantThatNobodyCanSeeSurvivesAndFailsTheRun) {
  fs::create_directories(folder_ / "lists");
  // Of the kernel that compiles soonest.
  write("lists/sigmoid.mutants",
        "HARMLESS\tkernels/sigmoid/sigmoid.cu\tif (tile.cols <= 0)\tif (tile.cols < 1)\tempty\n"
        "BROKEN\tkernels/sigmoid/sigmoid.cu\t// Sigmoid: see\t#error planted\\n// Sigmoid: see\tempty\n");
  const command_result tried =
      run_command({WARPCHECK_COMMAND, "mutants", "sigmoid", "--cases", "1", "--folder", (folder_ / "lists").string()});
  EXPECT_EQ(tried.status, 1) << tried.output;
  EXPECT_NE(tried.output.find("HARMLESS survived"), std::string::npos) << tried.output;
  EXPECT_NE(tried.output.find("BROKEN does not compile"), std::string::npos) << tried.output;
  EXPECT_NE(tried.output.find("mutation score 0.0 % (0 of 2"), std::string::npos) << tried.output;
}

TEST_F(Mutants, MutantOfWhatASmallerOfferLacksMustBeListed) {
  fs::create_directories(folder_ / "lists");
  const auto tried = [&](const std::string& needing, const std::vector<std::string>& more = {}) {
    write("lists/sigmoid.mutants",
          "lacks\tsigma!=1\t" + needing +
              "\nOF-SIGMA\tkernels/primitives/logistic.hpp\t  const float e = expf(-fabsf(z));\t"
              "  if (sigma == 0.0f) return 0.5f;\\n  const float e = expf(-fabsf(z));\tsigma-zero\n"
              "OF-ALL\tkernels/primitives/logistic.hpp\texpf(-fabsf(z))\texpf(fabsf(z))\twithin-error-bound\n");
    std::vector<std::string> command = {WARPCHECK_COMMAND, "mutants",  "sigmoid",
                                        "--cases",         "20",       "--lacks",
                                        "listed",          "--folder", (folder_ / "lists").string()};
    command.insert(command.end(), more.begin(), more.end());
    return run_command(command);
  };
  const command_result listed = tried("OF-SIGMA");
  EXPECT_EQ(listed.status, 0) << listed.output;
  EXPECT_NE(listed.output.find("outside the smaller offer (listed)"), std::string::npos) << listed.output;
  EXPECT_NE(listed.output.find("mutation score 100.0 % (1 of 1"), std::string::npos) << listed.output;
  const command_result unlisted = tried("");
  EXPECT_EQ(unlisted.status, 1) << unlisted.output;
  EXPECT_NE(unlisted.output.find("OF-SIGMA survived"), std::string::npos) << unlisted.output;
  const command_result named = tried("OF-SIGMA", {"--only", "OF-SIGMA"});
  EXPECT_EQ(named.status, 0) << named.output;
  const command_result wrong = tried("OF-ALL OF-SIGMA", {"--only", "OF-ALL"});
  EXPECT_EQ(wrong.status, 1) << wrong.output;
  EXPECT_NE(wrong.output.find("its list says that it needs what is lacked"), std::string::npos) << wrong.output;
}

TEST_F(Mutants, SuiteMutantIsKilledByATestUnlessItIsTheSameProgram) {
  write("generators.mutants",
        "G-1\tproperties/engine/draw.cpp\t{c - 1, c, c + 1}\t{c - 1, c, c}\t*\n"
        "G-2\tproperties/engine/draw.cpp\tif (kind < 2) return\tif (2 > kind) return\t*\n"
        "G-3\tproperties/engine/draw.cpp\tif (kind < 2) return\tif (kind < two) return\t*\n"
        "G-4\tproperties/engine/draw.cpp\tif (kind < 2) return\tif (kind < 1) return\t=\n");
  const command_result tried = run_command({WARPCHECK_COMMAND, "mutants", "generators", "--folder", folder_.string()});
  EXPECT_EQ(tried.status, 0) << tried.output;
  EXPECT_NE(tried.output.find("G-1: unit.engine (failed)"), std::string::npos) << tried.output;
  EXPECT_NE(tried.output.find("G-2: equivalent (same code)"), std::string::npos) << tried.output;
  EXPECT_NE(tried.output.find("1 generated mutants do not compile"), std::string::npos) << tried.output;
  EXPECT_NE(tried.output.find("2 are equivalent"), std::string::npos) << tried.output;
  EXPECT_NE(tried.output.find("mutation score 100.0 % (1 of 1"), std::string::npos) << tried.output;
}

TEST_F(Mutants, KernelMutantThatNoPropertyKillsMeetsTheLongTests) {
  write("sigmoid.mutants",
        "G-1\tkernels/sigmoid/sigmoid.cu\tslice.store(value, y + tile.begin)\tslice.store(value, y + "
        "static_cast<int>(tile.begin))\t*\n");
  const std::vector<std::string> command = {WARPCHECK_COMMAND, "mutants",       "sigmoid", "--cases", "6",
                                            "--folder",        folder_.string()};
  const command_result tried = run_command(command);
  EXPECT_EQ(tried.status, 0) << tried.output;
  EXPECT_NE(tried.output.find("G-1: nightly.long_rows.sigmoid_flat ("), std::string::npos) << tried.output;
  EXPECT_NE(tried.output.find("mutation score 100.0 % (1 of 1"), std::string::npos) << tried.output;
  const command_result again = run_command(command);
  EXPECT_EQ(again.status, 0) << again.output;
  EXPECT_NE(again.output.find("1 mutants, 0 of them to try"), std::string::npos) << again.output;
}

TEST_F(Mutants, GeneratedMutantThatDoesNotCompileIsLeftOut) {
  write("softmax.mutants",
        "G-1\tkernels/softmax/softmax.cu\t// Softmax: see\t#error planted\\n// Softmax: see\t*\n"
        "G-2\tkernels/primitives/reduce.hpp\tlane < warps ?\tlane < warps - 1 ?\t*\n");
  const command_result tried = run_command({WARPCHECK_COMMAND, "mutants", "softmax", "--folder", folder_.string()});
  EXPECT_EQ(tried.status, 0) << tried.output;
  EXPECT_NE(tried.output.find("1 generated mutants do not compile"), std::string::npos) << tried.output;
  EXPECT_NE(tried.output.find("mutation score 100.0 % (1 of 1"), std::string::npos) << tried.output;
}

}  // namespace
}  // namespace warpcheck::cli
