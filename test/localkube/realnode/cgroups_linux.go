package realnode

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type mount struct{ path, kind string }

// mounts lists what is mounted, in the order in which it was.
func mounts() ([]mount, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list the mounts: %w", err)
	}
	defer func() { _ = file.Close() }()
	var found []mount
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		before, after, ok := strings.Cut(scanner.Text(), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if ok && len(fields) > 4 && len(rest) > 0 {
			found = append(found, mount{path: strings.ReplaceAll(fields[4], `\040`, " "), kind: rest[0]})
		}
	}
	return found, scanner.Err()
}

// hierarchies returns the roots of all cgroup hierarchies: one with cgroup v2, one a controller with v1.
func hierarchies() ([]mount, error) {
	all, err := mounts()
	if err != nil {
		return nil, err
	}
	var roots []mount
	for _, m := range all {
		if strings.HasPrefix(m.kind, "cgroup") {
			roots = append(roots, m)
		}
	}
	return roots, nil
}

// makeCgroups makes the group that all pods are in, so that a glance, and the clean-up, finds them all.
func makeCgroups(name string) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	for _, root := range roots {
		dir := filepath.Join(root.path, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make the cgroup: %w", err)
		}
		// A new group of v1's cpuset may use nothing until it is told what.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if root.kind != "cgroup" {
				break
			}
			if value, err := os.ReadFile(filepath.Join(root.path, file)); err == nil {
				_ = os.WriteFile(filepath.Join(dir, file), value, 0o644)
			}
		}
	}
	return nil
}

// removeCgroups kills what is in the group and removes it.
func removeCgroups(name string) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	var problems []error
	for _, root := range roots {
		if err := removeCgroup(filepath.Join(root.path, name)); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

func removeCgroup(dir string) (err error) {
	// A killed process leaves its group a little later.
	for range 100 {
		var groups []string
		_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				groups = append(groups, path)
			}
			return nil
		})
		if len(groups) == 0 {
			return nil
		}
		for i := len(groups) - 1; i >= 0; i-- {
			killAll(filepath.Join(groups[i], "cgroup.procs"))
			err = syscall.Rmdir(groups[i])
		}
		if err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("remove the cgroup %s: %w", dir, err)
}

func killAll(procs string) {
	data, err := os.ReadFile(procs)
	if err != nil {
		return
	}
	for _, line := range strings.Fields(string(data)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 1 && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
