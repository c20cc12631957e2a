package cliagent

import (
	"fmt"
	"os"
	"strconv"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lookpath"
)

// argumentLimit is Linux's limit of one argument, including the final NUL. Other systems have limits of this size or
// limit all arguments together, and report it themselves.
const argumentLimit = 128 << 10

// checkFiles checks the directory and files that a request names before anything starts.
func checkFiles(req execution.Request) *execution.Error {
	var faults execution.FieldErrors
	add := func(field, path, what string) {
		faults = append(faults, execution.FieldError{Field: field, Message: what, Received: strconv.Quote(path)})
	}
	if dir := req.Run.Cwd; dir != "" {
		switch info, err := os.Stat(dir); {
		case lookpath.IsNotExist(err):
			add("run.cwd", dir, "does not exist")
		case err != nil:
			add("run.cwd", dir, "cannot be used: "+err.Error())
		case !info.IsDir():
			add("run.cwd", dir, "is not a directory")
		default:
			if err := readable(dir); err != nil {
				add("run.cwd", dir, "cannot be read: "+err.Error())
			}
		}
	}
	for i, a := range req.Message.Attachments {
		if a.FilePath == "" {
			continue
		}
		field := fmt.Sprintf("message.attachments[%d].filePath", i)
		switch info, err := os.Stat(a.FilePath); {
		case lookpath.IsNotExist(err):
			add(field, a.FilePath, "does not exist")
		case err != nil:
			add(field, a.FilePath, "cannot be used: "+err.Error())
		case !info.Mode().IsRegular():
			add(field, a.FilePath, "is not a regular file")
		default:
			if err := readable(a.FilePath); err != nil {
				add(field, a.FilePath, "cannot be read: "+err.Error())
			}
		}
	}
	if len(faults) == 0 {
		return nil
	}
	err := execution.Errorf(execution.CodeValidation, "invalid request: %s", faults.Error())
	err.Fields = faults
	return err
}

// readable opens path, because only the system knows what it permits.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func checkArguments(args []string) *execution.Error {
	for i, a := range args {
		if len(a) >= argumentLimit {
			return execution.Errorf(execution.CodeValidation, "argument %d of the command line has %d bytes; the limit is %d",
				i+1, len(a), argumentLimit-1).WithHint("shorten the prompt, or put the text into a file and name it in the prompt")
		}
	}
	return nil
}
