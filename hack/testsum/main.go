// Command testsum runs `go test -json` and prints what a person wants to read of it: one line for each package, the whole
// output of each test that fails, and how many tests passed.
//
//	testsum [-v] [-record FILE] -- go test -json ./...
//	testsum -total FILE...
//
// It must not hide anything that fails: whatever is not a test event is printed as it comes, and its exit status is that
// of the command it ran.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	verbose := flag.Bool("v", false, "print each test that ends, not only packages")
	record := flag.String("record", "", "append the counts to this `file`, for -total")
	total := flag.Bool("total", false, "print the sum of the recorded files that are named, and run nothing")
	flag.Parse()

	if *total {
		sum, err := readRecords(flag.Args())
		if err != nil {
			fatal(err)
		}
		fmt.Println(sum)
		if sum.Failed > 0 {
			os.Exit(1)
		}
		return
	}
	if flag.NArg() == 0 {
		fatal(errors.New("name the command to run after --"))
	}

	report := newReport(os.Stdout, *verbose)
	status := run(flag.Args(), report)
	counts := report.finish(status)
	if *record != "" {
		if err := appendRecord(*record, counts); err != nil {
			fatal(err)
		}
	}
	os.Exit(status)
}

// run runs the command, feeds its output to the report and gives its exit status. An interrupt is left to the command,
// which got it from the terminal too: the report then still tells what was running.
func run(command []string, report *report) int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		fatal(err)
	}
	if err := cmd.Start(); err != nil {
		fatal(err)
	}
	go func() {
		for sig := range signals {
			if sig == syscall.SIGTERM {
				_ = cmd.Process.Signal(sig)
			}
		}
	}()

	stop := report.watch()
	readLines(out, report.line)
	stop()

	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	default:
		fmt.Fprintln(os.Stderr, "testsum:", err)
		return 1
	}
}

// readLines calls f with each line, however long it is.
func readLines(r io.Reader, f func([]byte)) {
	reader := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			f(line)
		}
		if err != nil {
			return
		}
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "testsum:", err)
	os.Exit(2)
}
