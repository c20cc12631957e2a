//go:build !linux

package main

const lingerEnv = "DRAWBAR_TEST_LINGER"

func playLinger() {}
