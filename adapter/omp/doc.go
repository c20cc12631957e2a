// Package omp drives Oh My Pi, a fork of Pi, over the Agent Client Protocol (omp acp).
//
// Its session files have grown apart from those of Pi; package pifile reads both. Its own flags work in ACP mode, too: they
// carry the system prompt and how it asks for permission. An extension of the run (report.js) states on standard error what the
// protocol lacks: the price of every model call, why one failed, and retries.
package omp
