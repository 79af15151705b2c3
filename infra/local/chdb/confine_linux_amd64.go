package chdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readable are the files and folders of the system that the engine and glibc read: libraries, host names,
// certificates, time zones, and properties of the machine. There is no rule for /proc, which the engine does
// not need: it contains the environment of the process.
var readable = []string{
	"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage", "/usr/share/locale", "/dev/urandom", "/dev/random",
	"/etc/ld.so.cache", "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services", "/etc/localtime", "/etc/timezone",
	"/etc/ssl/certs", "/etc/ssl/cert.pem", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
}

// Access rights of Landlock version 2. Without REFER, which version 1 lacks, no file could be renamed into another folder.
const (
	toRead      = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_EXECUTE
	ofFiles     = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	inVersion2  = unix.LANDLOCK_ACCESS_FS_REFER<<1 - 1
	inVersion3  = inVersion2 | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	leastKernel = "5.19"
)

// confinement is the rule set for the threads of the engine; 0 = none.
var confinement atomic.Int64

// Confine restricts the engine, until the process ends, to files below dir and the files of the system that it
// needs (Landlock). It is called before the first Connect. Only threads of the engine are affected: its calls
// are made on restricted threads, and threads that it starts inherit the restriction. The error is
// errors.ErrUnsupported if the kernel has no Landlock.
func Confine(dir string) error {
	library, err := Find()
	if err != nil {
		return err
	}
	program, err := os.Executable() // the engine ends the process if it cannot read it to describe an error
	if err != nil {
		return err
	}
	version, _, code := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if code != 0 || version < 2 {
		return fmt.Errorf("%w: Linux %s with Landlock", errors.ErrUnsupported, leastKernel)
	}
	all := unix.LandlockRulesetAttr{Handled_access_fs: inVersion2}
	if version > 2 {
		all.Handled_access_fs = inVersion3
	}
	rules, _, code := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&all)), unsafe.Sizeof(all.Handled_access_fs), 0)
	if code != 0 {
		return fmt.Errorf("restrict the ClickHouse engine: %w", code)
	}
	err = permit(int(rules), dir, all.Handled_access_fs)
	for _, path := range append(readable, filepath.Dir(library), program) {
		if err == nil {
			err = permit(int(rules), path, toRead)
		}
	}
	if err == nil {
		err = permit(int(rules), "/dev/null", ofFiles&all.Handled_access_fs)
	}
	if err != nil {
		_ = unix.Close(int(rules))
		return fmt.Errorf("restrict the ClickHouse engine: %w", err)
	}
	tried := make(chan error)
	go onThread(func() { tried <- restrict(int64(rules)) })
	if err := <-tried; err != nil {
		_ = unix.Close(int(rules))
		return fmt.Errorf("restrict the ClickHouse engine: %w", err)
	}
	confinement.Store(int64(rules))
	return nil
}

// permit adds a rule. Paths that do not exist, or that this process may not open, need none.
func permit(rules int, path string, access uint64) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		access &= ofFiles
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if _, _, code := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); code != 0 {
		return fmt.Errorf("%s: %w", path, code)
	}
	return nil
}

// restrict applies the rules to the current thread.
func restrict(rules int64) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, code := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); code != 0 {
		return code
	}
	return nil
}

// calls are sent to the restricted threads.
var calls = make(chan func())

// call makes a call of the engine. Under a confinement it is made on a thread that is used for nothing else and
// never ends; there are as many as calls were ever in progress at once.
func call(f func()) {
	rules := confinement.Load()
	if rules == 0 {
		f()
		return
	}
	ended := make(chan struct{})
	one := func() { f(); close(ended) }
	select {
	case calls <- one:
	default:
		go onThread(func() {
			if err := restrict(rules); err != nil {
				panic(fmt.Sprintf("chdb: a thread cannot be restricted: %v", err)) // Confine has tried it
			}
			for {
				one()
				one = <-calls
			}
		})
	}
	<-ended
}

// onThread runs f on a thread that is used for nothing else, from which Go starts no other, and which ends with
// it. It is not the first thread of the process: glibc reads /proc to determine the stack of that one.
func onThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	another := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(another)
		f()
	}()
	<-another
	runtime.UnlockOSThread()
}
