// Exact runs of known strength. Every output of some operators is a polynomial of the inputs of total degree `degree`:
// 1 for sums, 2 for matrix products. Such an operator runs on integers that are drawn independently and uniformly from
// a set of S, so small that no sum is rounded. Let a candidate compute polynomials too, of at most that degree, on each
// shape by the same operations whatever the values. If one of its polynomials differs from the operator's, it gives the
// right value in a run with probability at most degree / S (Schwartz, "Fast probabilistic algorithms for verification
// of polynomial identities", J. ACM 27(4), 1980, corollary 1), and in n runs with at most (degree / S)^n. Property
// polynomial-identity takes the smallest n for which this is below 1e-9.
#pragma once

#include "properties/engine/cases/case.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::engine {

// The note (case_notes.hpp) of the probability that a wrong polynomial passes the case.
inline constexpr const char* k_wrong_polynomial = "wrong polynomial";

// Returns the number of runs of a case, or 0 if they would be too many: its floating-point inputs are integers of too
// small a set, or do not have the recipe `integers`.
int identity_runs(const trial_case& c, int degree);

// Makes it property polynomial-identity of an operator of this degree. Its generator draws calls whose sums are all
// exact, and its check requires the exact value of every element. Inputs that are not floating-point numbers stay the
// same in all runs.
void make_polynomial_identity(property& p, int degree);

}  // namespace warpcheck::engine
