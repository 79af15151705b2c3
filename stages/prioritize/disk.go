package main

import (
	"log/slog"

	"forager/internal/platform/disk"
	"forager/internal/platform/pipeline"
)

// watchDisk watches the space on the disks that crawls fill, and logs its changes.
func watchDisk(cfg *pipeline.Config, log *slog.Logger) *disk.Watch {
	return disk.NewWatch(
		func() []string { return disk.Folders(cfg.Data) }, uint64(cfg.Disk.PauseBelow), disk.Free,
		func(s disk.State, err error) { logDisk(log, s, err) })
}

// logDisk logs a change of a disk's state.
func logDisk(log *slog.Logger, s disk.State, err error) {
	about := log.With("dir", s.Dir, "free", s.Free, "needed", s.Need)
	switch {
	case err != nil:
		about.Error("free space cannot be read; crawls go on", "error", err)
	case s.Low:
		about.Warn("crawls paused: a disk is low; free space there, or lower disk.pause_below")
	default:
		about.Info("crawls go on: the disk has space again")
	}
}
