package process

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
)

// cutWait is how long a stream may stay open after every process of the tree was killed. Its end is then a matter of
// scheduling, unless a process outside the tree has the file.
const cutWait = 250 * time.Millisecond

// supervise accompanies a process from its start to its end. It owns every other goroutine of the process.
func (p *Process) supervise(ctx context.Context) {
	var streams sync.WaitGroup
	var readErrs [2]error
	for i, r := range p.readers {
		streams.Go(func() { readErrs[i] = r.run() })
	}
	ended := make(chan struct{})
	var rest sync.WaitGroup
	rest.Go(func() {
		streams.Wait()
		close(ended)
	})
	if p.in != nil {
		if err := p.in.put(p.spec.Stdin); err == nil && !p.spec.KeepStdin {
			p.in.close()
		}
		rest.Go(p.in.run)
	}

	exit := Exit{}
	st := p.untilExit(ctx, &exit)
	close(p.loose)
	eof := false
	if errors.Is(st.err, ErrKeeperLost) {
		exit.Killed = true // it runs, but its end cannot be reported
	} else {
		eof = p.untilEOF(ctx, ended, exit.Killed)
	}
	p.child.kill()
	survivors, err := p.child.finish()
	close(p.dead)
	select {
	case <-ended:
	case <-time.After(cutWait):
		forced := false
		for _, r := range p.readers {
			forced = !r.abandon() || forced
		}
		<-ended
		exit.Cut = forced
	}
	exit.Survivors = survivors
	exit.Cut = exit.Cut || !eof && survivors > 0
	for _, r := range p.readers {
		exit.Cut = exit.Cut || r.cut
	}
	if p.in != nil {
		p.in.abort()
	}
	rest.Wait()
	for _, r := range p.readers {
		_ = r.f.Close()
	}
	if p.keys != nil {
		_ = p.keys.Close()
	}

	exit.Code, exit.Signal = st.code, st.signal
	exit.Err = errors.Join(st.err, err, readErrs[0], readErrs[1])
	exit.StderrTail = p.tail.String()
	exit.Duration = time.Since(p.start)
	p.stopMu.Lock()
	p.ended = true
	exit.Stopped = !p.stop.IsZero()
	p.stopMu.Unlock()
	p.exit = exit
	close(p.done)
}

// untilExit waits for the end of the process itself, and escalates a stop.
func (p *Process) untilExit(ctx context.Context, exit *Exit) status {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var kill, hopeless <-chan time.Time
	cancelled := ctx.Done()
	for {
		select {
		case st := <-p.child.exited():
			return st
		case <-cancelled:
			cancelled = nil
			p.Stop(p.spec.grace())
		case <-p.stopped:
			if !exit.Killed {
				timer.Reset(time.Until(p.deadline()))
				kill = timer.C
			}
		case <-kill:
			kill = nil
			exit.Killed = true
			p.child.kill()
			timer.Reset(cmp.Or(p.spec.killLimit, supervisor.KillLimit))
			hopeless = timer.C
		case <-hopeless:
			hopeless = nil
			p.child.abandon()
		}
	}
}

// untilEOF waits for the end of the streams after the exit, within the drain time and a stop. It returns false if
// they are still open.
func (p *Process) untilEOF(ctx context.Context, ended <-chan struct{}, killed bool) bool {
	limit := time.Now().Add(p.spec.drain())
	if d := p.deadline(); !d.IsZero() && d.Before(limit) {
		limit = d
	}
	if killed {
		limit = time.Now().Add(cutWait) // the whole tree is dying already
	}
	timer := time.NewTimer(time.Until(limit))
	defer timer.Stop()
	cancelled := ctx.Done()
	for {
		select {
		case <-ended:
			return true
		case <-timer.C:
			select {
			case <-ended:
				return true
			default:
				return false
			}
		case <-cancelled:
			cancelled = nil
			p.Stop(p.spec.grace())
		case <-p.stopped:
			if d := p.deadline(); d.Before(limit) {
				limit = d
				timer.Reset(time.Until(limit))
			}
		}
	}
}

func (p *Process) deadline() time.Time {
	p.stopMu.Lock()
	defer p.stopMu.Unlock()
	return p.stop
}
