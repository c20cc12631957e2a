package usagescan

import (
	"time"

	"github.com/drawbar/drawbar/transport/jsonscan"
)

// Millis returns the time in v as Unix milliseconds: RFC 3339 in a string, or a number of milliseconds. It returns 0
// for anything else.
func Millis(v jsonscan.Value) int64 {
	b, ok := v.Plain()
	if !ok {
		n, _ := v.Int()
		return max(n, 0)
	}
	// 2026-11-20T11:44:18.706Z: the format of all agents.
	if len(b) == 24 && b[4] == '-' && b[7] == '-' && b[10] == 'T' && b[13] == ':' && b[16] == ':' && b[19] == '.' && b[23] == 'Z' {
		year, a := digits(b[0:4])
		month, c := digits(b[5:7])
		day, d := digits(b[8:10])
		hour, e := digits(b[11:13])
		minute, f := digits(b[14:16])
		second, g := digits(b[17:19])
		milli, h := digits(b[20:23])
		if a && c && d && e && f && g && h && month >= 1 && month <= 12 && day >= 1 && day <= 28 && hour < 24 && minute < 60 && second < 60 {
			return ((days(year, month, day)*24+hour)*60+minute)*60_000 + second*1000 + milli
		}
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return 0
	}
	return max(t.UnixMilli(), 0)
}

func digits(b []byte) (n int64, ok bool) {
	for _, c := range b {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	return n, true
}

// days counts the days from 1970-01-01 to a Gregorian date. Years start in March here, so that the leap day is the
// last day of its year.
func days(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468
}
