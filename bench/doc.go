// Package bench measures what Drawbar adds to the agents it drives. bench/run.sh runs them
// and those of other packages and prints ratios; bench/govern.sh measures governed turns, and bench/crash.sh kills them; bench/batch.sh
// kills batches. No test asserts a time.
package bench
