package main

import (
	"context"
	"log/slog"
	"time"
)

const (
	mebibyte = 1 << 20
	// pageSize is the smallest page of any platform: writing to each makes the kernel back it with memory.
	pageSize = 4096
)

// fillMemory returns n MiB that are really used, so that a memory limit below strikes. It takes them in small
// steps, because one big allocation could be refused as a whole rather than kill.
func fillMemory(ctx context.Context, n int) ([][]byte, error) {
	var kept [][]byte
	for range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		block := make([]byte, mebibyte)
		for i := 0; i < len(block); i += pageSize {
			block[i] = 1
		}
		kept = append(kept, block)
	}
	return kept, nil
}

// crashLater ends the process, without any draining, when its time has come.
func crashLater(ctx context.Context, opts options, log *slog.Logger, exit func(int)) {
	if !opts.ExitAfter.set || pause(ctx, opts.ExitAfter.after) != nil {
		return
	}
	log.Error("Crashing, as told by exit-after", "exitCode", opts.ExitCode)
	exit(opts.ExitCode)
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
