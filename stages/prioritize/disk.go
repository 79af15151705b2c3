package main

import (
	"log/slog"

	"forager/internal/platform/disk"
)

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
