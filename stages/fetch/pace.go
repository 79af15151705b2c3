package main

import "time"

// pace is how much slower a host is asked than its crawls want, by how it has responded. The zero value is a host of which nothing is
// known. docs/decisions/0231 has the reasons of the figures.
type pace struct {
	// refusals in a row (429, 503).
	refusals int
	// least is the shortest pause after refusals; 0 = that of the crawls.
	least time.Duration
	// stretch is what is added to the pause of the crawls, as a multiple of it, after time-outs and growing latency.
	stretch float64
	// usual and recent are moving means of the time that responses took, over many and few of them; responses is the
	// number of those counted, at most usualOver.
	usual, recent time.Duration
	responses     int
}

const (
	// mostSlower bounds what is added to a pause, and least.
	mostSlower  = time.Minute
	mostStretch = 15
	// easing is what a normal response leaves of least and stretch; what is below the thresholds is dropped.
	easing          = 0.9
	negligible      = 100 * time.Millisecond
	negligibleShare = 0.05

	usualOver  = 64
	recentOver = 4
	// fast is a latency of which growth from below does not count.
	fast = 100 * time.Millisecond
	// mostGrowth bounds what a response counts, in multiples of the usual latency, so that a single one has no effect.
	mostGrowth = 4
)

// of returns the pause of a host whose crawls keep one of so long: at least that, and at most mostSlower more.
func (p pace) of(pause time.Duration) time.Duration {
	more := min(p.stretch*float64(pause), float64(mostSlower))
	return max(pause+time.Duration(more), p.least)
}

// slowed reports whether refusals, time-outs or latency count.
func (p pace) slowed() bool { return p.refusals > 0 || p.least > 0 || p.stretch > 0 }

// refused is the pace after a refusal.
func (p pace) refused() pace {
	p.refusals++
	p.least = min(max(2*p.least, time.Second), mostSlower)
	return p
}

// timedOut is the pace after a request without a response.
func (p pace) timedOut() pace {
	p.stretch = min(max(2*p.stretch, 1), mostStretch)
	return p
}

// responded is the pace after a normal response that took so long.
func (p pace) responded(took time.Duration) pace {
	p.refusals = 0
	if p.least = time.Duration(easing * float64(p.least)); p.least < negligible {
		p.least = 0
	}
	if p.stretch *= easing; p.stretch < negligibleShare {
		p.stretch = 0
	}
	if p.responses > 0 {
		took = min(took, mostGrowth*max(p.usual, fast))
	}
	p.responses = min(p.responses+1, usualOver)
	p.usual += (took - p.usual) / time.Duration(p.responses)
	p.recent += (took - p.recent) / time.Duration(min(p.responses, recentOver))
	if growth := float64(p.recent) / float64(max(p.usual, fast)); growth > 2 {
		p.stretch = max(p.stretch, growth-1)
	}
	return p
}
