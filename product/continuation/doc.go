// Package continuation keeps turns that cannot end yet: they wait for a reply, an approval, a result from elsewhere or a time, and are resumed
// later, by another process if need be (BYOH specification, continuation).
//
// A Runtime creates a Record from a result, resumes it once for a trigger that fits, and delivers what comes of it. A Store keeps records; every
// change is a compare-and-swap, so of two resumes one wins. Nothing here runs an agent: the product's Run does.
package continuation
