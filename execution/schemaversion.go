package execution

import (
	"fmt"
	"strconv"
	"strings"
)

// SchemaVersion is the version, major.minor, of every wire value of this package. A reader accepts any minor of
// the same major: minors only add fields.
const SchemaVersion = "1.0"

// CheckSchemaVersion returns an error unless a value of version v can be read. Empty means not stated and is
// read as the current version; an unknown major or a malformed version is an error that wraps ErrSchemaVersion.
func CheckSchemaVersion(v string) error {
	if v == "" {
		return nil
	}
	major, minor, ok := strings.Cut(v, ".")
	if !ok {
		minor = "0"
	}
	m, err := strconv.ParseUint(major, 10, 31)
	if err != nil {
		return fmt.Errorf("%w: %q does not have the form major.minor", ErrSchemaVersion, v)
	}
	if _, err := strconv.ParseUint(minor, 10, 31); err != nil {
		return fmt.Errorf("%w: %q does not have the form major.minor", ErrSchemaVersion, v)
	}
	if m != 1 {
		return fmt.Errorf("%w: %q has major %d, this program reads %s", ErrSchemaVersion, v, m, SchemaVersion)
	}
	return nil
}
