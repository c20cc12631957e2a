// Package omp drives Oh My Pi, a fork of Pi, over the Agent Client Protocol (omp acp).
//
// Its session files have grown apart from those of Pi; package pifile reads both. Its own flags work in ACP mode, too: they
// carry the system prompt and how it asks for permission.
package omp
