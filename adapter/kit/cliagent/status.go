package cliagent

import "github.com/drawbar/drawbar/execution"

// CodeOfStatus returns the code for an HTTP status of a model API's error, empty for a success.
func CodeOfStatus(status int64) execution.ErrorCode {
	switch {
	case status == 401 || status == 403:
		return execution.CodeAuth
	case status == 404:
		return execution.CodeModelNotFound
	case status == 429:
		return execution.CodeRateLimited
	case status >= 600: // not an HTTP status
	case status == 408 || status >= 500:
		return execution.CodeProvider
	case status >= 400:
		return execution.CodeInvalidRequest
	}
	return ""
}
