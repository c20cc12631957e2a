// Package judges lets the vendors' own Go SDKs judge Drawbar: what its adapters of model APIs and its own agent send, and what its model
// server answers. It is a module of its own, so that the SDKs are no part of Drawbar, and no part of every check: go test . in this folder.
package judges
