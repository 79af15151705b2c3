package simweb

import "math"

// mix is the finalizer of splitmix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// purpose distinguishes what is drawn for the same page, host or link.
type purpose uint64

const (
	ofTopic purpose = iota + 1
	ofStray
	ofHub
	ofText
	ofSplit
	ofDirectory
	ofDirectoryTopic
	ofNavigation
	ofDeadLink
	ofHostHazard
	ofRobots
	ofPrivate
	ofCalendar
	ofPageHazard
	ofVariant
)

// hash is a 64-bit function of the web, a number and a purpose.
func (w *space) hash(n uint64, p purpose) uint64 {
	return mix(mix(n^w.c.Seed*0x9e3779b97f4a7c15) ^ uint64(p)*0xd1342543de82ef95)
}

// unit is hash as a number in [0,1).
func (w *space) unit(n uint64, p purpose) float64 { return asUnit(w.hash(n, p)) }

func asUnit(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// stream is a sequence of hashes.
type stream struct{ state uint64 }

func (s *stream) next() uint64 { s.state++; return mix(s.state * 0x9e3779b97f4a7c15) }

func (s *stream) unit() float64 { return asUnit(s.next()) }

// intn is one of 0 … n−1.
func (s *stream) intn(n int) int { return int(s.unit() * float64(n)) }

// uintn is one of 0 … n−1.
func (s *stream) uintn(n uint64) uint64 { return min(uint64(s.unit()*float64(n)), n-1) }

// lognormal is exp of a normal variate (Box–Muller).
func (s *stream) lognormal(median, sigma float64) float64 {
	u, v := s.unit(), s.unit()
	return median * math.Exp(sigma*math.Sqrt(-2*math.Log(1-u))*math.Cos(2*math.Pi*v))
}
