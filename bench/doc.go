// Package bench measures what Drawbar adds to the agents it drives. It holds benchmarks only; bench/run.sh runs them
// and those of other packages and prints ratios. No test asserts a time.
package bench
