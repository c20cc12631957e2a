package view

import (
	"time"

	"github.com/drawbar/drawbar/govern"
)

// Lease says who holds a run that several clones carry.
func Lease(s govern.Share, now time.Time) string {
	l := s.Lease
	who := "by " + l.Who() + " (" + l.Owner + ")"
	if s.LeaseHere {
		who = "here (" + l.Owner + ")"
	}
	if !now.Before(l.Until) {
		return who + ", without a sign of life since " + l.Until.Local().Format(time.DateTime)
	}
	return who + " since " + l.Since.Local().Format(time.DateTime)
}
