package pipeline

import (
	"fmt"
	"net"

	"forager/internal/platform/strictyaml"
)

// process has what the division of the memory must have about the replicas of a stage, or the embedded parts.
type process struct {
	path     string
	settings *Process
	replicas int // 0 = not started on this machine
	// least and normal are the memory of one replica, in MiB. growth is its weight in what exceeds the normal sum.
	least, normal, growth int64
	// gc is the default of gc_percent: 200 where the memory in use is small compared with the limit and there is much garbage.
	gc    int
	parts []part
}

// part is a setting whose default is a share of the process's memory: (memory − base) × num / den.
type part struct {
	path           string
	value          *int64
	base, num, den int64
}

// engineMiB is the memory that the program of the embedded ClickHouse takes in addition to its data.
const engineMiB = 192

// processes returns the processes among which memory is divided.
//
// A budget between the sum of the least and the sum of the normal values gives each replica its least value, and
// of the rest as much as its normal value exceeds the least one, in proportion. A larger budget gives each replica its normal value, and
// divides the rest by growth: what more memory makes faster are frontiers, the tables of ClickHouse, the graphs of distill and
// the samples of apprentice-train.
func (c *Config) processes() []process {
	s := &c.Stages
	stage := func(name string, x *Common, least, normal, growth int64, gc int, parts ...part) process {
		path := "stages." + name
		for i := range parts {
			parts[i].path = path + "." + parts[i].path
		}
		return process{path, &x.Process, x.Replicas, least, normal, growth, gc, parts}
	}
	local := process{path: "local", settings: &c.Local.Process, replicas: 1, least: 64, normal: 192, growth: 0}
	switch host := serviceHost(c.ClickHouse.URL); {
	case c.ClickHouse.URL == "" || Loopback(host):
		local.least, local.normal, local.growth = 576, 768, 3
		local.parts = []part{{"local.clickhouse_bytes", &c.Local.ClickHouseBytes, engineMiB << 20, 2, 3}}
	case !c.embeds():
		local.replicas = 0
	}
	return []process{
		local,
		stage("fetch", &s.Fetch.Common, 256, 512, 0, 200, part{"segment_bytes", &s.Fetch.SegmentBytes, 0, 1, 8}),
		stage("parse-dom", &s.ParseDOM.Common, 128, 256, 0, 200, part{"cache_bytes", &s.ParseDOM.CacheBytes, 0, 1, 16}),
		stage("critic-score", &s.CriticScore.Common, 128, 256, 0, 200),
		stage("feature-extract", &s.FeatureExtract.Common, 128, 256, 0, 200),
		stage("prioritize", &s.Prioritize.Common, 384, 768, 6, 0,
			part{"cache_bytes", &s.Prioritize.CacheBytes, 0, 1, 12}, part{"frontier_bytes", &s.Prioritize.FrontierBytes, 0, 5, 24}),
		stage("apprentice-train", &s.ApprenticeTrain.Common, 128, 256, 1, 0, part{"cache_bytes", &s.ApprenticeTrain.CacheBytes, 0, 1, 8}),
		stage("distill", &s.Distill.Common, 384, 768, 2, 0, part{"cache_bytes", &s.Distill.CacheBytes, 0, 1, 48}),
		stage("load-clickhouse", &s.LoadClickHouse.Common, 256, 512, 0, 200),
		stage("archive-parquet", &s.ArchiveParquet.Common, 128, 256, 0, 0, part{"file_bytes", &s.ArchiveParquet.FileBytes, 64 << 20, 1, 6}),
		stage("monitor", &s.Monitor.Common, 64, 128, 0, 0),
	}
}

// embeds reports whether an address is that of a part that may be embedded.
func (c *Config) embeds() bool {
	for _, b := range c.Kafka.Brokers {
		if host, _, _ := net.SplitHostPort(b); Loopback(host) {
			return true
		}
	}
	return Loopback(serviceHost(c.S3.Endpoint)) || Loopback(serviceHost(c.ClickHouse.URL))
}

// memoryShare is the memory of the replicas of a stage, or of the embedded parts (local).
type memoryShare struct {
	// Path is stages.STAGE or local.
	Path string
	// Replicas of MemoryBytes each; Least is the minimum of each, 0 if the file has MemoryBytes.
	Replicas           int
	MemoryBytes, Least int64
	// Explicit: the file has memory_bytes.
	Explicit bool
}

// divide sets the memory of every process that has none in the file. k has what the file has.
func (k checks) divide(c *Config) {
	all := c.processes()
	var least, normal, growth, fixed int64 // of all replicas; fixed in bytes, others in MiB
	for _, p := range all {
		n := int64(p.replicas)
		if k.Has(p.path + ".memory_bytes") {
			fixed += n * p.settings.MemoryBytes
			if c.Memory > 0 && p.settings.MemoryBytes == 0 && n > 0 {
				k.Problem(p.path+".memory_bytes", "is 0, no limit, and memory is %s: leave out one of the two", strictyaml.FormatBytes(c.Memory))
			}
			continue
		}
		least, normal, growth = least+n*p.least, normal+n*p.normal, growth+n*p.growth
	}
	free := normal
	if c.Memory > 0 {
		free = (c.Memory - fixed) >> 20
		if free < least || c.Memory < fixed {
			k.Problem("memory", "is %s; %s at least is needed: what the file has as memory_bytes of processes (%s), and the least of the others (%s), each times its replicas",
				strictyaml.FormatBytes(c.Memory), strictyaml.FormatBytes(mebi(fixed+least<<20)), strictyaml.FormatBytes(fixed), strictyaml.FormatBytes(least<<20))
			return
		}
	}
	for _, p := range all {
		explicit := k.Has(p.path + ".memory_bytes")
		if !explicit {
			p.settings.MemoryBytes = amount(p, free, least, normal, growth) << 20
		}
		if !explicit || c.Memory > 0 {
			k.sizeParts(p)
		}
		share := memoryShare{Path: p.path, Replicas: p.replicas, MemoryBytes: p.settings.MemoryBytes, Explicit: explicit}
		if !explicit {
			share.Least = p.least << 20
		}
		c.shares = append(c.shares, share)
	}
}

// mebi rounds up to whole MiB.
func mebi(n int64) int64 { return (n + 1<<20 - 1) &^ (1<<20 - 1) }

// amount returns the memory of one replica, in MiB, of free MiB for all.
func amount(p process, free, least, normal, growth int64) int64 {
	switch {
	case free >= normal && growth > 0:
		return p.normal + (free-normal)*p.growth/growth
	case free >= normal || normal == least:
		return p.normal
	}
	return p.least + (p.normal-p.least)*(free-least)/(normal-least)
}

// sizeParts sets the parts of a process's memory that the file does not have.
func (k checks) sizeParts(p process) {
	for _, part := range p.parts {
		if k.Has(part.path) {
			continue
		}
		if size := (p.settings.MemoryBytes - part.base) >> 10 * part.num / part.den << 10; size > 0 {
			*part.value = size
		}
	}
}

// division describes the division of the memory.
func (c *Config) division() []string {
	var sum int64
	lines := []string{""}
	for _, s := range c.shares {
		sum += int64(s.Replicas) * s.MemoryBytes
		origin := "least " + strictyaml.FormatBytes(s.Least)
		if s.Explicit {
			origin = "set in the file"
		}
		lines = append(lines, fmt.Sprintf("  %-24s %3d × %-10s %s", s.Path, s.Replicas, strictyaml.FormatBytes(s.MemoryBytes), origin))
	}
	lines[0] = fmt.Sprintf("Memory of the processes: %s", strictyaml.FormatBytes(sum))
	if c.Memory > 0 {
		lines[0] += " of " + strictyaml.FormatBytes(c.Memory)
	}
	return lines
}
