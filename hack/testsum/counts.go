package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// counts says how many tests ended how.
type counts struct {
	Passed, Failed, Skipped int
}

// String is the closing line: it names skipped tests only where there are any.
func (c counts) String() string {
	if c.Skipped == 0 {
		return fmt.Sprintf("%d passed, %d failed", c.Passed, c.Failed)
	}
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.Passed, c.Failed, c.Skipped)
}

func (c counts) plus(other counts) counts {
	return counts{c.Passed + other.Passed, c.Failed + other.Failed, c.Skipped + other.Skipped}
}

func appendRecord(file string, c counts) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("record the counts: %w", err)
	}
	_, err = fmt.Fprintf(f, "%d %d %d\n", c.Passed, c.Failed, c.Skipped)
	return errors.Join(err, f.Close())
}

// readRecords adds up what appendRecord wrote. A file that is missing has no tests in it.
func readRecords(files []string) (counts, error) {
	var sum counts
	for _, file := range files {
		one, err := readRecord(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return sum, err
		}
		sum = sum.plus(one)
	}
	return sum, nil
}

func readRecord(file string) (counts, error) {
	f, err := os.Open(file)
	if err != nil {
		return counts{}, fmt.Errorf("read counts: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written

	var sum counts
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var one counts
		if _, err := fmt.Sscanf(lines.Text(), "%d %d %d", &one.Passed, &one.Failed, &one.Skipped); err != nil {
			return sum, fmt.Errorf("read counts from %s: line %q: %w", file, lines.Text(), err)
		}
		sum = sum.plus(one)
	}
	if err := lines.Err(); err != nil {
		return sum, fmt.Errorf("read counts from %s: %w", file, err)
	}
	return sum, nil
}
