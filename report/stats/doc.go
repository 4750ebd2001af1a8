// Package stats holds the statistics of a benchmark comparison. It is pure:
// numbers in, numbers out, with no clock, no file, no log and no state that a
// caller can see.
//
// Conventions that hold everywhere:
//
//   - A fraction is a fraction: a margin of 0.02 is 2 %.
//   - An improvement is oriented: positive is better, whether a higher or a
//     lower value is better. A change is not: it is (new − old) / |old|.
//   - Samples are never negated or inverted.
//   - NaN stands for "does not exist" (the difference of one run, say). ±Inf
//     appears only as the open end of an interval.
//   - Levels are two-sided.
//
// The rules that this package follows are those of the project's statistics
// page; where a number in the code looks arbitrary (14.8 median deviations,
// 0.6 ticks, 10 % futility), it is a rule from there.
package stats
