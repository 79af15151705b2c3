package chdb

import (
	"runtime"
	"syscall"
	"unsafe"
)

// sigaction is the kernel's struct of rt_sigaction on x64.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// signalStack is the kernel's struct of sigaltstack on x64.
type signalStack struct {
	start uintptr
	flags int32
	_     int32
	size  uintptr
}

const (
	lastSignal = 64
	maskBytes  = 8
)

// keepSignals runs f and restores every signal handler that f replaced, and the thread's signal stack; it
// returns the signals that f changed. With libchdb's handlers a nil dereference in Go, which a recover would
// catch, ends the process.
func keepSignals(f func()) (changed []int) {
	var saved [lastSignal + 1]sigaction
	for s := 1; s <= lastSignal; s++ {
		rtSigaction(s, nil, &saved[s])
	}
	keepSignalStack(f)
	for s := 1; s <= lastSignal; s++ {
		var now sigaction
		rtSigaction(s, nil, &now)
		if now != saved[s] {
			changed = append(changed, s)
			rtSigaction(s, &saved[s], nil)
		}
	}
	return changed
}

// keepSignalStack runs f on one thread (call) and restores its signal stack: the engine sets its own on every thread that enters it.
func keepSignalStack(f func()) {
	call(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var saved, now signalStack
		sigaltstack(nil, &saved)
		f()
		sigaltstack(nil, &now)
		if now != saved {
			sigaltstack(&saved, nil)
		}
	})
}

// An error of these two means that the signal cannot be changed.

func rtSigaction(signal int, act, old *sigaction) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(signal),
		uintptr(unsafe.Pointer(act)), uintptr(unsafe.Pointer(old)), maskBytes, 0, 0)
}

func sigaltstack(act, old *signalStack) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_SIGALTSTACK, uintptr(unsafe.Pointer(act)), uintptr(unsafe.Pointer(old)), 0)
}
