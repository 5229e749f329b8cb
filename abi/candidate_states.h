/* Statements of a candidate about its operators, beside their tables (candidate.h). Exporting this is optional. */
#ifndef WARPCHECK_ABI_CANDIDATE_STATES_H_
#define WARPCHECK_ABI_CANDIDATE_STATES_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Statements on the operator, separated by ';', or NULL for none:
 *   lacks bias, ta=yes, cols>1024   calls that have one of these are not offered
 *   sums chain                      a sum may be one chain of additions, one after the other
 *   sums <= 64                      no sum has a longer chain of additions than this
 *   gates <= 100                    gru: a gate errs by at most 100 * 2^-24, where the contract has less
 *   log of sum                      log_softmax, logsumexp: the logarithm is that of the whole sum of exponentials
 *   exp overflows                   sigmoid, matmul: the logistic function is 1 / (1 + exp(-z)) of every z
 *   unstable                        argsort: equal keys may come in any order
 *   plan                            sums, bits and workspaces are those of warpcheck's own kernels
 *   batch-invariant                 a row has the same bits whatever the number of rows and wherever it stands
 * A statement that reaches no verdict on the operator is refused (statement_rules of the operator's description,
 * properties/engine/cases/description.hpp). Which operators take which statements, and which traits can be lacked:
 * docs/bring_your_own/README.md. */
const char* warpcheck_candidate_states(const char* op);
typedef const char* (*warpcheck_candidate_states_fn)(const char* op);

#ifdef __cplusplus
}
#endif
#endif /* WARPCHECK_ABI_CANDIDATE_STATES_H_ */
