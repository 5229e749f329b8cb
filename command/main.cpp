// The command `warpcheck`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>

#include "command/bench.hpp"
#include "command/candidates/brought_candidate.hpp"
#include "command/candidates/plugin.hpp"
#include "command/commands.hpp"
#include "command/completion.hpp"
#include "command/formula_arguments.hpp"
#include "command/mutants/mutants.hpp"
#include "command/null_kernels.hpp"
#include "command/plan.hpp"
#include "command/project.hpp"
#include "command/run_emulated.hpp"
#include "command/support.hpp"
#include "command/terminal.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/isolation/runner.hpp"
#include "properties/engine/trials/property.hpp"

namespace {

using namespace warpcheck;

// The last lines of a command's help.
std::string exit_codes(const std::string& own, const std::string& last = "") {
  return "Exit codes: " + own +
         ";\n2 usage or malformed input;\n"
         "3 a requested device, toolkit or library is missing, or a result cannot be written" +
         last + ".";
}
constexpr const char* k_judged = "0 every judged case passed; 1 a verdict other than pass";
constexpr const char* k_verified =
    "0 success;\n1 a case failed, too many were skipped, coverage is too low, or nothing was compared";
constexpr const char* k_golden_folder = "The golden folder (default: golden, or that of the plug-in)";
void add_timeout(CLI::App* command, std::optional<double>& seconds, const std::string& what = "a case") {
  const std::string text =
      "Seconds after which " + what + " is stopped; more in proportion for more than 2^24 elements";
  command->add_option("--timeout", seconds, text)->default_str("60; 300 on the emulated device");
}
constexpr const char* k_kept = ";\n130 interrupted (the finished part is kept)";

// An option that names a file for the result; a path that cannot be written is refused before the run.
CLI::Option* add_output(CLI::App* command, const std::string& name, std::string& path, const std::string& what) {
  return command->add_option(name, path, what)->each([](const std::string& text) { cli::check_writable(text); });
}

// An option that takes one value each time.
CLI::Option* add_list(CLI::App* command, const std::string& name, std::vector<std::string>& values,
                      const std::string& what) {
  return command->add_option(name, values, what)->allow_extra_args(false);
}

void add_unwanted(CLI::App* command, cli::verify_options& o) {
  add_list(command, "--without-property", o.without,
           "NAME:REASON: leave out this property; the last line and the results repeat it (may be repeated)");
}

// Options common to verify and fuzz: the selection of operators, candidate and cases.
void add_selection(CLI::App* command, cli::verify_options& o, cli::brought_candidate& b) {
  command->add_option(
      "operators", o.operators,
      "Only these operators (default: all; see 'warpcheck list'), or formulas: FILE.op, FILE.op:NAME, NAME.op of the "
      "library formulas/, or gradient: before one of these (docs/formulas.md)");
  command
      ->add_option("--device", o.device,
                   "auto (a GPU if there is one, else emulated), emulated, cuda, cuda:N, cuda:all (the workers of "
                   "verify and fuzz spread over all GPUs) or cpu")
      ->capture_default_str();
  command->add_option("--property", o.properties, "Only this property (may be repeated)");
  add_unwanted(command, o);
  command->add_option("--dtype", o.dtypes, "Only this element type (may be repeated)");
  cli::add_candidate(command, o, b);
}
void add_limits(CLI::App* command, cli::verify_options& o) {
  command->add_option("--regressions", o.regressions,
                      "Folder of counterexamples to replay first (default: golden/regressions, if there is one)");
  add_output(command, "--json", o.json, "Write the result as JSON to this file");
  add_output(command, "--junit", o.junit, "Write the result as JUnit XML to this file");
  command->add_option("--shard", o.shard, "i/n, i from 0: run part i of n disjoint parts of the cases")
      ->capture_default_str();
  command->add_option("--size", o.size, "Limit on sizes of generated shapes: quick, ci or full")->capture_default_str();
  command->add_option("--max-rows", o.max_rows, "At most this many rows; leaves out properties that need more");
  command->add_option("--max-cols", o.max_cols, "At most this many columns; leaves out properties that need more");
  command->add_option("--workers", o.workers, "Worker processes (0: one per core; on cuda at most 8)")
      ->capture_default_str();
  command->add_flag("--mps", o.mps,
                    "Let the workers use the GPU at the same time, through an MPS daemon that ends with the run");
  command
      ->add_option_function<std::string>(
          "--accept", [&o](const std::string&) { o.accepts_nondeterminism = true; },
          "nondeterministic: launches of a case may give different bits, as with floating-point atomics")
      ->check(CLI::IsMember({"nondeterministic"}));
  command->add_flag("--allow-skips", o.allow_skips, "Accept a run that skips more than a tenth of its cases");
  add_timeout(command, o.timeout);
  command->add_option("--shrink-seconds", o.shrink_seconds, "Seconds after which the shrinking of a failure ends")
      ->capture_default_str();
}

struct verify_command {
  cli::verify_options options;
  cli::brought_candidate brought;
  bool null_kernels = false;
};
void add_verify(CLI::App& app, verify_command& command, int& code) {
  cli::verify_options& v = command.options;
  cli::brought_candidate& b = command.brought;
  CLI::App* verify =
      app.add_subcommand("verify", "Run the properties of operators on generated cases, or on your own array");
  add_selection(verify, v, b);
  add_limits(verify, v);
  verify->add_option("--cases", v.cases, "Generated cases per (property, dtype, device)")->capture_default_str();
  verify->add_option("--seed", v.seed, "Seed of the generated cases: an integer, or 'random' (printed)")
      ->capture_default_str();
  add_list(verify, "--input", v.inputs,
           "NAME=FILE.npy: judge the operator on your arrays instead of generated cases, one for each input; "
           "FILE.npz, FILE.pt: all of an archive, by their names; NAME=VALUE: a scalar. Without NAME= the file is the "
           "next input (may be repeated)");
  verify->add_option("--journal", v.journal, "Folder for the journal of the run, kept afterwards; needed by --resume");
  verify->add_flag("--fail-fast", v.fail_fast, "End the run with the first failure and report the finished part");
  verify->add_flag("--keep-going", v.keep_going, "Judge all cases of a property, even after its fifth failure");
  verify->get_option("--keep-going")->excludes(verify->get_option("--fail-fast"));
  verify->add_flag("--resume", v.resume, "Continue the run whose journal is in --journal");
  CLI::Option* of_null_kernels =
      verify->add_flag("--null-kernels", command.null_kernels,
                       "Instead of a verdict, print how many cases are passed by kernels that compute nothing");
  for (const char* name :
       {"--candidate",      "--source",      "--python",   "--device",           "--dtype",     "--kernelbench",
        "--gpumode",        "--size",        "--max-rows", "--max-cols",         "--shard",     "--regressions",
        "--junit",          "--input",       "--journal",  "--resume",           "--mps",       "--fail-fast",
        "--shrink-seconds", "--allow-skips", "--accept",   "--without-property", "--keep-going"})
    of_null_kernels->excludes(verify->get_option(name));
  verify->footer(exit_codes(k_verified, k_kept));
  verify->callback([&] {
    b.prepare(v);
    code = command.null_kernels ? cli::null_kernels(v) : cli::verify(v);
  });
}

struct fuzz_command {
  cli::fuzz_options options;
  cli::brought_candidate brought;
};
void add_fuzz(CLI::App& app, fuzz_command& command, int& code) {
  cli::fuzz_options& f = command.options;
  CLI::App* fuzz =
      app.add_subcommand("fuzz", "Search for failures with new seeds, and keep each finding as a shrunk case");
  f.what.shrink_seconds = 300;  // a finding is read more often than it is made
  add_selection(fuzz, f.what, command.brought);
  add_limits(fuzz, f.what);
  f.what.seed = "random";
  fuzz->add_option("--out", f.out, "Folder of findings and state; an existing folder is resumed")->required();
  fuzz->add_option("--time", f.time, "Time limit: 90s, 10m, 8h, 1d (default: none; --cases or Ctrl-C ends the run)");
  fuzz->add_option("--cases", f.cases, "At most this many cases per (property, dtype); 0: no limit")
      ->capture_default_str();
  fuzz->add_option("--seed", f.what.seed, "Seed of the cases: an integer, or 'random' (printed); shards need the same")
      ->capture_default_str();
  fuzz->footer(exit_codes("0 no case failed; 1 a case of this run or a replayed counterexample failed", k_kept));
  fuzz->callback([&] {
    command.brought.prepare(f.what);
    code = cli::fuzz(f);
  });
}

void add_replay(CLI::App& app, cli::replay_options& r, int& code) {
  CLI::App* replay = app.add_subcommand("replay", "Run one case from its line, as printed by a failing run");
  replay->add_option("line", r.line, "The case line, quoted")->required();
  replay->add_option("--device", r.device, "Run on this device instead of the line's");
  replay->add_option("--candidate", r.candidate, "Run this candidate instead of the line's");
  cli::add_isolation(replay, r.is_isolated);
  add_output(replay, "--json", r.json, "Write the report as JSON to this file");
  replay->add_option("--arrays", r.arrays,
                     "Write the inputs of the case into this folder, as NAME.npy, and run nothing");
  add_timeout(replay, r.timeout);
  replay->footer(exit_codes(k_judged));
  replay->callback([&] {
    cli::use_formula_of_line(r.line);
    code = cli::replay(r);
  });
}

void add_explain(CLI::App& app, cli::explain_options& x, int& code) {
  CLI::App* explain = app.add_subcommand(
      "explain",
      "Explain one case: contract, bound, the kernel's result and the first wrong step; or the contract of a formula");
  explain
      ->add_option("line", x.line,
                   "The case line, quoted; or FILE.op, FILE.op:NAME: its bound, arithmetic, cases and properties")
      ->required();
  explain->add_option("--device", x.device, "Run on this device instead of the line's");
  explain->add_option("--candidate", x.candidate, "Run this candidate instead of the line's");
  cli::add_isolation(explain, x.is_isolated);
  add_output(explain, "--json", x.json, "Write the case's report and its explanation as JSON to this file");
  add_output(explain, "--plot", x.plot, "Draw the row, the exact values and the errors against the bound (SVG)");
  explain->add_option("--python", x.python, "The Python that has Jinja2 and matplotlib (default: see docs/report.md)");
  add_timeout(explain, x.timeout);
  explain->footer(exit_codes("0 explained, whatever the verdict"));
  explain->callback([&] { code = cli::explain(x); });
}

void add_report(CLI::App& app, cli::report_options& w, int& code) {
  CLI::App* report = app.add_subcommand("report", "Make one HTML page from the files that commands wrote with --json");
  add_list(report, "--verify", w.verify, "JSON of verify (may be repeated)");
  add_list(report, "--fuzz", w.fuzz, "JSON of fuzz (may be repeated)");
  add_list(report, "--bench", w.bench, "JSON of a benchmark (--benchmark_out), or a baseline (may be repeated)");
  add_list(report, "--mutants", w.mutants, "JSON of mutants (may be repeated)");
  report->add_option("--history", w.history, "nightly.db of ci/nightly");
  report->add_option("--title", w.title, "The heading of the page");
  add_output(report, "--out", w.out, "The page to write")->required();
  report->add_option("--python", w.python, "The Python that has Jinja2 and matplotlib (default: see docs/report.md)");
  report->footer(exit_codes("0 written"));
  report->callback([&] { code = cli::report(w); });
}

void add_mutants(CLI::App& app, cli::mutants_options& m, int& code) {
  CLI::App* mutants =
      app.add_subcommand("mutants", "Plant bugs in our kernels and in the suite itself, and check that they are found");
  mutants->add_option(
      "subjects", m.operators,
      "Only these operators, or parts of the suite (default: all that have a list, or those of the plug-ins); or "
      "formulas (FILE.op), each changed in one place at a time");
  mutants->add_option("--only", m.only, "Only the mutant of this id (may be repeated)");
  CLI::Option* of_only = mutants->get_option("--only");
  mutants
      ->add_option("--one-in", m.one_in, "Only one mutant in this many of each list, at least one, drawn by the seed")
      ->capture_default_str()
      ->excludes(of_only);
  mutants->add_option("--cases", m.cases, "Generated cases per (property, dtype)")->capture_default_str();
  mutants->add_option("--seed", m.seed, "Seed of the generated cases")->capture_default_str();
  mutants->add_option("--lacks", m.lacks, "Generate no case with one of these: 'bias, ta=yes'; listed: the list's own");
  mutants->add_option("--jobs", m.jobs, "Mutants tested at a time (0: one per core)")->capture_default_str();
  mutants->add_option("--folder", m.folder, "The folder of the lists (default: ci/mutate of the source tree)");
  mutants->add_flag("--generated", m.generated,
                    "Judge a fresh sample of ci/mutate/generate instead, over kernels and suite; no score may go down");
  CLI::Option* of_mutants = add_output(mutants, "--json", m.json, "Write the result as JSON to this file");
  mutants->add_flag("--list", m.list, "Only list the mutants")->excludes(of_mutants);
  mutants->footer(exit_codes(
      "0 all are killed as expected and no score fell; 1 otherwise (of a formula: a changed formula survives)",
      k_kept));
  mutants->callback([&] {
    const bool has_formula = std::ranges::any_of(m.operators, cli::is_formula_argument);
    code = has_formula ? cli::formula_mutants(m) : cli::mutants(m);
  });
}

void add_list(CLI::App& app, cli::list_options& l, int& code) {
  CLI::App* list = app.add_subcommand("list", "List operators, or the variants and properties of one operator");
  list->add_option("operator", l.op, "The operator to describe");
  list->add_flag("--distributions", l.distributions, "List the distributions of recipes");
  list->add_flag("--verdicts", l.verdicts, "List the verdicts of a case, by severity");
  add_output(list, "--json", l.json,
             "Write the properties of each operator, or of the named one, as JSON to this file");
  list->callback([&] {
    for (const std::string& op : cli::use_formulas({l.op})) {
      l.op = op;
      code = cli::list(l);
    }
  });
}

void add_doctor(CLI::App& app, cli::doctor_options& d, int& code) {
  CLI::App* doctor = app.add_subcommand(
      "doctor", "List the devices, libraries and commands that work here, and the packages to install for the others");
  add_output(doctor, "--json", d.json, "Write the list as JSON to this file");
  doctor->footer(exit_codes("0 the emulated device works"));
  doctor->callback([&] { code = cli::doctor(d); });
}

void add_completion(CLI::App& app, std::string& shell, int& code) {
  CLI::App* completion = app.add_subcommand("completion", "Print the completion script of a shell (docs/command.md)");
  completion->add_option("shell", shell, "The shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&] {
    fmt::print("{}", cli::completion_script(app, shell, engine::operators_with_properties()));
    code = cli::k_pass;
  });
}

// The same option for every command, before its name and after it.
void add_color(CLI::App& app, std::string& when) {
  app.add_option("--color", when, "Colours: auto (a terminal, without NO_COLOR), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->each([](const std::string& text) { cli::use_color(text); });
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) add_color(*command, when);
}

void add_judge(CLI::App& app, int& code) {
  CLI::App* judge = app.add_subcommand(
      "judge", "Judge given arrays: requests on standard input, one line of JSON each (python/warpcheck/judging.py)");
  judge->callback([&] { code = cli::judge(); });
}

void add_golden(CLI::App& app, cli::golden_options& g, int& code) {
  CLI::App* golden = app.add_subcommand("golden", "Check or regenerate the golden data");
  golden->require_subcommand(1);
  CLI::App* check = golden->add_subcommand(
      "check", "Check hashes and format, and that the reference and a candidate agree with every file");
  check->add_option("operators", g.operators, "Only these operators (default: all, or those of the plug-ins)");
  check->add_option("--folder", g.folder, k_golden_folder);
  check->add_option("--device", g.device, "auto, emulated, cuda, cuda:N or cpu")->capture_default_str();
  check->add_option("--candidate", g.candidate, "builtin, or a candidate library")->capture_default_str();
  check->footer(exit_codes("0 all agree; 1 a file does not, or a kernel became less accurate", "; 130 interrupted"));
  check->callback([&] { code = cli::golden_check(g); });
  check->add_flag("--ratchet", g.ratchet, "Compare a candidate that is not built in with the error profiles, too");
  CLI::App* regenerate = golden->add_subcommand(
      "regenerate", "Write the known answers of an operator, the checksums and the error profile");
  regenerate->add_option("operator", g.operators, "The operator")->required();
  regenerate->add_option("--folder", g.folder, k_golden_folder);
  regenerate->add_option("--device", g.device, "Device of the error profile: auto, emulated, cuda or cuda:N")
      ->capture_default_str();
  regenerate->callback([&] { code = cli::golden_regenerate(g); });
}

void add_ptx_launches(CLI::App& emulated, cli::run_emulated_options& e) {
  add_list(&emulated, "--launch", e.launches,
           "A launch of a .ptx file: KERNEL<<<GRID, BLOCK, SHARED>>>(ARGUMENTS), shapes such as 4x2; arguments "
           "are numbers and names of arrays (may be repeated)");
  add_list(&emulated, "--array", e.arrays,
           "An array for launches: NAME=FILE.npy, or NAME=f32[64,16], which is not initialised");
  add_list(&emulated, "--write", e.writes, "Write an array after the launches: NAME=FILE.npy");
  add_list(&emulated, "--expect", e.expects, "Compare an array's bits after the launches: NAME=FILE.npy");
}

void add_run_emulated(CLI::App& app, cli::run_emulated_options& e, int& code) {
  CLI::App* emulated = app.add_subcommand(
      "run-emulated",
      "Run a CUDA program (one .cu file with main), or kernels of a PTX module, on the emulated device and report "
      "their hazards");
  emulated->add_option("file", e.file, "The program's source, or a .ptx file")->required();
  add_list(emulated, "--with", e.others, "Another source of the program: .cu, .cpp or .c (may be repeated)");
  emulated->add_option("arguments", e.arguments, "The program's own arguments, after '--'");
  CLI::Option* named = add_list(emulated, "--schedule", e.schedules, "fair, greedy, random:N, ... (may be repeated)");
  emulated->add_flag("--explore", e.explore, "Run small launches in every class of schedules, 10000 at most")
      ->excludes(named);
  emulated->add_option("--seeds", e.seeds,
                       "Seeds of random, pct_warp and preempt, without --schedule (default 3; none after a proof of "
                       "every schedule)");
  add_list(emulated, "-D,--define", e.defines, "A macro for the source: NAME or NAME=VALUE (may be repeated)");
  add_list(emulated, "-I,--include", e.includes, "A folder for the source's headers (may be repeated)");
  emulated
      ->add_option("--std", e.standard,
                   "The standard of C++, also as -std=c++20: c++17, c++20 or c++23; an older one means c++17")
      ->check(CLI::IsMember({"c++11", "c++14", "c++17", "c++20", "c++23"}))
      ->capture_default_str();
  add_ptx_launches(*emulated, e);
  add_output(emulated, "--json", e.json, "Write the result as JSON to this file");
  emulated->add_option("--timeout", e.timeout, "Seconds after which a run is stopped")->capture_default_str();
  emulated
      ->add_option("--step-limit", e.step_limit,
                   "A launch whose threads wait, and none ends, for this many scheduler steps is a livelock")
      ->capture_default_str();
  emulated->add_option("--volatile", e.volatile_as, "Treat volatile accesses as relaxed atomics, or as plain ones")
      ->check(CLI::IsMember({"relaxed", "plain"}))
      ->capture_default_str();
  emulated->add_flag(
      "--keep-going", e.keep_going,
      "Continue after findings: races and accesses outside an allocation do not end their launch (a read "
      "outside gives 0); a failed launch does not end the program");
  emulated->add_flag("--no-trace", e.no_trace, "List approximated functions, without the runs that trace their values");
  emulated->add_option("--suppress", e.suppress, "A file of known findings, a line each: KIND FILE:LINE REASON");
  emulated->add_flag("--quiet", e.quiet, "Do not show the output of the program");
  emulated->footer(exit_codes(k_judged));
  emulated->callback([&] { code = cli::run_emulated(e); });
}

void add_formulas(CLI::App& app, std::string& formula, int& code) {
  CLI::App* gradient = app.add_subcommand("gradient", "Print the backward operator of a formula, as a formula");
  CLI::App* format = app.add_subcommand("format", "Print a formula in its canonical form");
  for (CLI::App* command : {gradient, format})
    command->add_option("formula", formula, "FILE.op for all its operators, or FILE.op:NAME for one")->required();
  gradient->callback([&] { code = cli::print_gradients(formula); });
  format->callback([&] { code = cli::format_formulas(formula); });
}

void add_run(CLI::App& app, cli::run_formula_options& r, int& code) {
  CLI::App* run = app.add_subcommand("run", "Compute the exact value and the bound of a formula on your arrays");
  run->add_option("formula", r.formula, "FILE.op, or FILE.op:NAME if the file has several operators")->required();
  add_list(run, "--input", r.inputs, "NAME=FILE.npy: an input (all are required)");
  add_list(run, "--set", r.values, "NAME=NUMBER: a scalar, or an extent that no input has (may be repeated)");
  add_list(run, "--output", r.outputs,
           "FILE.npy, or NAME=FILE.npy if there are several outputs: write the exact values as f64");
  add_list(run, "--bound", r.bounds, "The same for the bound of each element; an element without one has inf");
  run->footer(exit_codes("0 written"));
  run->callback([&r, &code] { code = cli::run_formula(r); });
}

struct bench_command {
  bench::operator_bench_options options;
  cli::verify_options verify;  // of the candidate
  cli::brought_candidate brought;
  bool unverified = false;
};
void run_bench(bench_command& command, const std::vector<std::string>& google_benchmark, int& code) {
  bench::operator_bench_options& b = command.options;
  cli::verify_options& v = command.verify;
  b.google_benchmark = google_benchmark;
  v.operators = {b.op};
  v.fail_fast = true;
  command.brought.source.has_detector = !command.unverified;
  command.brought.prepare(v, !b.peers.empty());
  if (v.operators.size() != 1)
    throw engine::usage_error("operator: '" + b.op + "' has several operators; name one as FILE.op:NAME");
  b.op = v.operators.front();
  b.candidate = v.candidate;
  b.device = v.device;
  b.call_seconds = cli::timeout_of(v.timeout, b.device);
  code = cli::bench(b, b.candidate == "builtin" || command.unverified ? std::nullopt : std::optional(v));
}
void add_bench(CLI::App& app, bench_command& command, int& code) {
  bench::operator_bench_options& b = command.options;
  cli::verify_options& v = command.verify;
  CLI::App* bench =
      app.add_subcommand("bench", "Time an operator, ours or yours, beside the limit of the device (bench/README.md)");
  bench->add_option("operator", b.op, "The operator, or that of a plug-in")->required();
  v.device = "cuda";
  v.cases = 20;
  bench->add_option("--device", v.device, "cuda; or emulated or cpu (with a candidate), to check that rows run")
      ->capture_default_str();
  cli::add_candidate(bench, v, command.brought);
  bench->add_option("--cases", v.cases, "Cases of each property that verify a candidate before it is measured")
      ->capture_default_str();
  add_unwanted(bench, v);
  add_timeout(bench, v.timeout, "a case or a measured call");
  bench->add_flag("--unverified", command.unverified, "Measure a candidate without verifying it first");
  add_list(
      bench, "--row", b.rows,
      "Measure this row instead of the description's: a size of each extent, as rows=4096,cols=64,type=f16 (may be "
      "repeated)");
  add_list(bench, "--peer", b.peers, "A library, or source:FILE.cu:ENTRY, that is measured in turn (may be repeated)");
  add_list(bench, "--peer-times", b.peer_times, "Times that bench/peers/torch_rows.py wrote (may be repeated)");
  bench
      ->add_option("--bar", b.bar,
                   "Exit code 1 if the candidate, ours or a --peer has less than this fraction of the limit in any row")
      ->check(CLI::Range(0.0, 1.0));
  bench->allow_extras();
  bench->footer(
      "Options of Google Benchmark work, too: --benchmark_filter=REGEX, --benchmark_list_tests,\n"
      "--benchmark_out=FILE --benchmark_out_format=json.\n" +
      exit_codes("0 measured; 1 a row or a candidate's verification failed, or a row is below the bar"));
  bench->callback([&command, bench, &code] { run_bench(command, bench->remaining(), code); });
}

// Checked here, because CLI11 would only report that a command is missing.
bool names_a_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return true;
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == argv[1]) return true;
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  fmt::print(stderr, "warpcheck: unknown command '{}'; commands are {}\n", argv[1], names);
  return false;
}

// The arguments, with the compilers' spelling -std=c++20 split into option and value.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  for (size_t i = 2; i < words.size() && words[i] != "--" && words[1] == "run-emulated"; ++i)
    if (words[i].starts_with("-std=")) words[i].insert(0, "-");
  return words;
}

// The command's callback sets `code`.
int parse_and_run(CLI::App& app, int argc, char** argv, const int& code) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int status = app.exit(e);  // prints the help or the error
    return status == 0 ? cli::k_pass : cli::k_usage;
  } catch (const engine::usage_error& e) {
    fmt::print(stderr, "warpcheck: {}\n", cli::with_short_quotations(e.what()));
    return cli::k_usage;
  } catch (const engine::environment_error& e) {
    fmt::print(stderr, "warpcheck: {}\n", cli::with_short_quotations(e.what()));
    return cli::k_environment;
  } catch (const cli::interrupted& e) {
    fmt::print(stderr, "warpcheck: {}\n", e.what());
    return cli::k_interrupted;
  } catch (const std::exception& e) {
    if (std::ferror(stdout)) return cli::k_environment;  // main reports it
    fmt::print(stderr, "warpcheck: internal error: {}\n", e.what());
    return cli::k_environment;
  }
  return code;
}

int run(int argc, char** argv) {
  cli::use_color("auto");
  CLI::App app{"warpcheck tests GPU kernels: is a kernel correct on every input that its contract allows?",
               "warpcheck"};
  app.footer(exit_codes("0 done"));  // for commands without exit codes of their own
  app.set_version_flag("--version", std::string("warpcheck " WARPCHECK_VERSION));
  app.require_subcommand(0, 1);
  app.fallthrough(false);
  std::vector<std::string> plugins;
  add_list(&app, "--plugin", plugins,
           "A library with an operator of your own, before the command (may be repeated; docs/adding_an_operator.md)");
  app.parse_complete_callback([&] {  // before the command runs
    for (const std::string& path : plugins) cli::load_plugin(path);
  });
  int code = cli::k_pass;
  verify_command verify;
  fuzz_command fuzz;
  cli::replay_options replay;
  cli::explain_options explain;
  cli::report_options report;
  cli::mutants_options mutants;
  cli::list_options list;
  cli::golden_options golden;
  cli::run_emulated_options emulated;
  bench_command bench;
  std::string formula;
  cli::run_formula_options run_options;
  cli::doctor_options doctor;
  std::string shell, color = "auto";
  add_verify(app, verify, code);
  add_fuzz(app, fuzz, code);
  add_replay(app, replay, code);
  add_explain(app, explain, code);
  add_report(app, report, code);
  add_mutants(app, mutants, code);
  add_list(app, list, code);
  add_doctor(app, doctor, code);
  add_completion(app, shell, code);
  add_judge(app, code);
  add_golden(app, golden, code);
  add_run_emulated(app, emulated, code);
  add_bench(app, bench, code);
  add_formulas(app, formula, code);
  add_run(app, run_options, code);
  add_color(app, color);
  app.footer("Without a command, the kernels of warpcheck.toml are tested (docs/command.md).\n" +
             exit_codes(k_verified, ";\n130 interrupted (verify, fuzz and mutants keep what is finished)"));
  app.final_callback([&] {
    if (app.get_subcommands().empty()) code = cli::run_project(*app.get_subcommand("verify"), plugins, color);
  });

  if (!names_a_command(app, argc, argv)) return cli::k_usage;
  std::vector<std::string> words = words_of(argc, argv);
  std::vector<char*> spelled;
  for (std::string& w : words) spelled.push_back(w.data());
  return parse_and_run(app, argc, spelled.data(), code);
}

// Returns only after an error.
int be_runner(char** words) {
  try {
    const std::string device = *words++, library = *words;
    while (*++words)
      if (std::string_view(*words).ends_with(".so"))
        cli::load_plugin(*words);
      else if (std::string_view(*words).find(' ') != std::string_view::npos)
        cli::use_formula_of_line(*words);
      else
        cli::use_formulas({*words});
    engine::serve_candidate(device, library);
  } catch (const std::exception& e) {
    fmt::print(stderr, "warpcheck: {}\n", e.what());
    return cli::k_environment;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 4 && std::string_view(argv[1]) == engine::k_runner_word) return be_runner(argv + 2);
  const int code = run(argc, argv);
  // A result that did not reach its file counts as an error.
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  fmt::print(stderr, "warpcheck: standard output cannot be written\n");
  return cli::k_environment;
}
