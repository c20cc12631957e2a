package cliagent

import "github.com/drawbar/drawbar/execution"

// CodeOfStatus is the word for an HTTP status with which a model API refuses a call, empty for one that refuses nothing.
func CodeOfStatus(status int64) execution.ErrorCode {
	switch {
	case status == 401 || status == 403:
		return execution.CodeAuth
	case status == 404:
		return execution.CodeModelNotFound
	case status == 429:
		return execution.CodeRateLimited
	case status >= 600: // none of HTTP
	case status == 408 || status >= 500:
		return execution.CodeProvider
	case status >= 400:
		return execution.CodeInvalidRequest
	}
	return ""
}
