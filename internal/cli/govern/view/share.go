package view

import (
	"time"

	"github.com/drawbar/drawbar/govern"
)

// Lease describes the holder of a lease.
func Lease(s govern.Share, now time.Time) string {
	l := s.Lease
	who := "by " + l.Who() + " (" + l.Owner + ")"
	if s.LeaseHere {
		who = "here (" + l.Owner + ")"
	}
	if !now.Before(l.Until) {
		return who + ", expired at " + l.Until.Local().Format(time.DateTime)
	}
	return who + " since " + l.Since.Local().Format(time.DateTime)
}
