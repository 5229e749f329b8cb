/* The interface of an imported program: what its shared library exports to `warpcheck run-emulated`. */
#ifndef WARPCHECK_SIMT_IMPORT_RUN_H_
#define WARPCHECK_SIMT_IMPORT_RUN_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Receives a hazard or misuse: `kind` is a verdict's name, "benign" for a race that is harmless in practice, "note" for
 * what is no failure, "approximated" for a construct whose result is not a GPU's to the bit, or "unsupported" for one
 * that is not modelled and ran. "every schedule" says that the program has one outcome under each; "choice" names
 * something that may depend on the schedule; "explored" says how many classes of schedules ran. After a fatal one the
 * device's state means nothing, and the program cannot go on: the receiver ends the process. */
typedef void (*simt_import_report_fn)(void* user, const char* kind, const char* text, int fatal);

typedef struct simt_import_options {
  const char* schedule;          /* token of simt/emulation.hpp */
  unsigned long long step_limit; /* scheduler steps in which threads wait and none ends; 0: the default */
  simt_import_report_fn report;
  void* user;
  int keep_going;               /* whether races end no launch, and what ends one does not end the program */
  int plain_volatile;           /* whether volatile accesses order nothing and race, as others do */
  unsigned long long* launches; /* counts the launches that have ended; NULL: nobody asks */
  unsigned processes;           /* that a launch may use at once; 0: one */
  /* For a library that follows its control (import/trace.hpp), others leave them: where it keeps the hashes of what it
   * did, of kernels and of the host's code; and the approximated construct that gives other values, or NULL. */
  unsigned long long* trace;
  const char* disturbed;
} simt_import_options;

/* Runs the program's main(argc, argv) on the emulated device and returns what main returned. */
typedef int (*simt_import_run_fn)(const simt_import_options* options, int argc, char** argv);

#ifdef __cplusplus
}
#endif
#endif /* WARPCHECK_SIMT_IMPORT_RUN_H_ */
