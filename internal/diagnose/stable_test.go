package diagnose

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestSecretsAreRedacted(t *testing.T) {
	for message, want := range map[string]string{
		"401 for token hf_abcdefghijklmnopqrstuvwxyz123456 at x":              "401 for token [redacted] at x",
		"Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc denied":           "Authorization: [redacted] denied",
		`config {"password": "hunter22", "user": "a"}`:                        `config {"[redacted]", "user": "a"}`,
		"connect to postgres://admin:hunter2@db:5432/x failed":                "connect to postgres://...@db:5432/x failed",
		"OPENAI key sk-abcdefghijklmnop1234 is invalid":                       "OPENAI key [redacted] is invalid",
		"export HF_TOKEN=abcdefgh":                                            "export [redacted]",
		"failed to fetch anonymous token: unexpected status from GET request": "failed to fetch anonymous token: unexpected status from GET request",
		"api_key=0123456789":                                                  "[redacted]",
		"couldn't find key HF_TOKEN in Secret team-a/token":                   "couldn't find key HF_TOKEN in Secret team-a/token",
		`secret "token" not found`:                                            `secret "token" not found`,
		"failed to fetch anonymous token: 401 Unauthorized":                   "failed to fetch anonymous token: 401 Unauthorized",
		"ValueError: max_tokens: 4096 is too large":                           "ValueError: max_tokens: 4096 is too large",
		`Head "https://registry.acme.example/v2/": connection reset`:          `Head "https://registry.acme.example/v2/": connection reset`,
	} {
		if got := stable(message); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", message, got, want)
		}
	}
}

func TestTheLastLineIsThatOfEveryRun(t *testing.T) {
	for line, want := range map[string]string{
		"2026-11-28 04:15:00,123 ERROR no such model":                           "ERROR no such model",
		"2026-11-28T04:15:00.123456Z ERROR no such model":                       "ERROR no such model",
		"ERROR 11-28 04:15:00 [core.py:42] out of memory":                       "ERROR [core.py:42] out of memory",
		"E1128 04:15:00.123456       1 main.go:7] no such model":                "E main.go:7] no such model",
		`{"level":"error","ts":1764303300.123,"msg":"no such model"}`:           `{"level":"error","ts":,"msg":"no such model"}`,
		`{"time":"2026-11-28T04:15:00.5+01:00","msg":"no such model"}`:          `{"time":"","msg":"no such model"}`,
		"(EngineCore pid=123) RuntimeError: CUDA error at 0x7f3a00":             "(EngineCore ) RuntimeError: CUDA error at",
		"Traceback (most recent call last):\n  File x\nValueError: 4096 > 2048": "ValueError: 4096 > 2048",
		"[04:15:00] ended": "[] ended",
		"":                 "",
	} {
		if got := lastLine(&corev1.Pod{}, line); got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}
