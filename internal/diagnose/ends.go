package diagnose

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

func containerConfig(c *container) *Finding {
	switch reason, message := c.waits(); reason {
	case "CreateContainerConfigError", "CreateContainerError":
		return &Finding{Message: fmt.Sprintf("container %q cannot be set up: %s", c.status.Name, stableFor(c.pod, message))}
	}
	return nil
}

func oomKilled(c *container) *Finding {
	ended := c.ended()
	if ended == nil || ended.Reason != "OOMKilled" {
		return nil
	}
	message := fmt.Sprintf("container %q was killed for want of memory on its node", c.status.Name)
	if limit, ok := c.spec.Resources.Limits[corev1.ResourceMemory]; ok {
		message = fmt.Sprintf("container %q was killed for using more memory than its limit of %s", c.status.Name, limit.String())
	}
	return &Finding{Message: message, ExitCode: &ended.ExitCode}
}

func crashLoop(c *container) *Finding {
	ended := c.ended()
	if ended == nil {
		return nil
	}
	message := fmt.Sprintf("container %q ended with exit code %d", c.status.Name, ended.ExitCode)
	switch meaning := ExitCode(ended.ExitCode); {
	case ended.Reason != "" && ended.Reason != "Error" && ended.Reason != "Completed":
		message += " (" + ended.Reason + ")"
	case meaning != "":
		message += " (" + meaning + ")"
	}
	if last := lastLine(c.pod, ended.Message); last != "" {
		message += ": " + last
	}
	return &Finding{Message: message, ExitCode: &ended.ExitCode}
}

// perRun is what differs in a line of a log each time that it is written: the time, numbers of processes and addresses in memory.
var perRun = regexp.MustCompile(`(?i)\b\d{4}[-/]\d{2}[-/]\d{2}[T ,]*\d{2}:\d{2}:\d{2}([.,]\d+)?(Z| ?[+-]\d{2}:?\d{2})?|` +
	`\b\d{2}-\d{2} \d{2}:\d{2}:\d{2}([.,]\d+)?|\b\d{2}:\d{2}:\d{2}([.,]\d+)?|\b1\d{9}(\.\d+)?\b|\b1\d{12}\b|\bpid[=: ]+\d+|\b0x[0-9a-f]+`)

// klogHeader begins the lines of Kubernetes' own programs, and of others that log like them.
var klogHeader = regexp.MustCompile(`^([IWEF])\d{4} \d{2}:\d{2}:\d{2}\.\d+ +\d+ `)

// lastLine is the last line that a container wrote, as it is written on every run.
func lastLine(pod *corev1.Pod, message string) string {
	lines := strings.Split(strings.TrimSpace(message), "\n")
	last := klogHeader.ReplaceAllString(strings.TrimSpace(lines[len(lines)-1]), "$1 ")
	return stableFor(pod, perRun.ReplaceAllString(last, ""))
}

// exitCodes says what is commonly meant by exit codes. One above 128 is a signal's number added to 128.
var exitCodes = map[int32]string{
	126: "the command cannot be executed: it is no program, or it lacks the permission",
	127: "the command was not found",
	129: "SIGHUP",
	130: "SIGINT",
	131: "SIGQUIT",
	132: "SIGILL: it uses an instruction that this processor lacks",
	134: "SIGABRT: it gave up by itself",
	135: "SIGBUS: often shared memory (/dev/shm) that is too small",
	136: "SIGFPE: an arithmetic error",
	137: "SIGKILL: it was killed from outside",
	139: "SIGSEGV: it accessed memory that is not its own",
	141: "SIGPIPE",
	143: "SIGTERM: it was asked to end",
	159: "SIGSYS: it used a system call that is not allowed",
}

// ExitCode says what an exit code commonly means. Empty: it is the program's own.
func ExitCode(code int32) string {
	if meaning, ok := exitCodes[code]; ok {
		return meaning
	}
	if code > 128 && code <= 128+64 {
		return fmt.Sprintf("signal %d", code-128)
	}
	return ""
}
