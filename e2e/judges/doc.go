// Package judges lets the vendors' own Go SDKs judge Drawbar: what its adapters of model APIs and its own agent send, and what its model
// server answers. It is a separate module, so Drawbar does not depend on the SDKs, and CI does not run it: run go test . in this folder.
package judges
