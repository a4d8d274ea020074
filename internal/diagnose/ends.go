package diagnose

import (
	"fmt"
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

func lastLine(pod *corev1.Pod, message string) string {
	lines := strings.Split(strings.TrimSpace(message), "\n")
	return stableFor(pod, lines[len(lines)-1])
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
