package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// maxBody bounds a request: a text of this size is scored in well under a second.
const maxBody = 1 << 20

// fixedPaths are not free for inference.
var fixedPaths = map[string]bool{"/health": true, "/metrics": true, "/v1/models": true}

// server answers HTTP. Its paths are matched by hand, because the inference path is any text that a user chose and
// not a pattern.
type server struct {
	opts     options
	queue    *queue
	metrics  *metrics
	model    atomic.Pointer[model]
	loadedAt time.Time
	draining atomic.Bool
	ballast  [][]byte
}

func newServer(opts options) *server {
	return &server{opts: opts, queue: newQueue(opts.Concurrency), metrics: newMetrics()}
}

// load makes the server ready to answer. It is called once.
func (s *server) load(ctx context.Context) error {
	if err := pause(ctx, s.opts.LoadDelay); err != nil {
		return err
	}
	ballast, err := fillMemory(ctx, s.opts.AllocateMiB)
	if err != nil {
		return err
	}
	s.ballast = ballast
	loaded := newModel()
	s.loadedAt = time.Now()
	// Storing the model publishes the fields above to the requests that see it.
	s.model.Store(loaded)
	return nil
}

// ServeHTTP is part of http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case s.opts.Path:
		if allow(w, r, http.MethodGet, http.MethodHead, http.MethodPost) {
			s.serveInference(w, r)
		}
	case "/health":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			s.serveHealth(w)
		}
	case "/v1/models":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			s.serveModels(w)
		}
	case "/metrics":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			// A client that is gone cannot be told about it.
			_, _ = io.WriteString(w, s.metricsText())
		}
	default:
		writeError(w, http.StatusNotFound, "no such path; inference is on "+s.opts.Path)
	}
}

func allow(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	for _, method := range methods {
		if r.Method == method {
			return true
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	writeError(w, http.StatusMethodNotAllowed, "use "+strings.Join(methods, " or "))
	return false
}

func (s *server) serveHealth(w http.ResponseWriter) {
	fail := s.opts.FailHealthAfter
	switch {
	case s.draining.Load():
		writeError(w, http.StatusServiceUnavailable, "shutting down")
	case s.model.Load() == nil:
		writeError(w, http.StatusServiceUnavailable, "loading the model")
	case fail.set && time.Since(s.loadedAt) >= fail.after:
		writeError(w, http.StatusServiceUnavailable, "unhealthy, as told by fail-health-after")
	default:
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	}
}

// serveModels answers as OpenAI's API does. An unloaded server has no model to list.
func (s *server) serveModels(w http.ResponseWriter) {
	data := []map[string]any{}
	if s.model.Load() != nil {
		data = append(data, map[string]any{
			"id": s.opts.ModelName, "object": "model", "created": s.loadedAt.Unix(),
			"owned_by": "aimodel-operator", "version": s.opts.ModelVersion,
		})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

// answer is what an inference request gets.
type answer struct {
	Label        string `json:"label"`
	Scores       scores `json:"scores"`
	Model        string `json:"model"`
	ModelVersion string `json:"modelVersion"`
	ServedBy     string `json:"servedBy"`
}

func (s *server) serveInference(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	code := s.infer(w, r)
	s.metrics.observe(code, time.Since(begin))
}

// infer answers one request and returns the status code that it sent.
func (s *server) infer(w http.ResponseWriter, r *http.Request) int {
	loaded := s.model.Load()
	if loaded == nil {
		w.Header().Set("Retry-After", "1")
		return writeError(w, http.StatusServiceUnavailable, "loading the model")
	}
	text, code, err := readText(w, r)
	if err != nil {
		return writeError(w, code, err.Error())
	}
	if err := s.queue.enter(r.Context()); err != nil {
		return writeError(w, statusClientGone, "the client went away while it waited")
	}
	defer s.queue.leave()
	if err := pause(r.Context(), s.opts.RequestDelay); err != nil {
		return writeError(w, statusClientGone, "the client went away")
	}
	label, scores := loaded.classify(text)
	return writeJSON(w, http.StatusOK, answer{
		Label: label, Scores: scores,
		Model: s.opts.ModelName, ModelVersion: s.opts.ModelVersion, ServedBy: s.opts.ServedBy,
	})
}

// statusClientGone is nginx's code for a client that closed the connection; it only shows in the metrics.
const statusClientGone = 499

// readText takes the text from the query, a JSON object or a plain body. On an error it also returns the code to answer.
func readText(w http.ResponseWriter, r *http.Request) (string, int, error) {
	if r.Method != http.MethodPost {
		return wanted(r.URL.Query().Get("text"), `add ?text=...`)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
		return "", http.StatusRequestEntityTooLarge, fmt.Errorf("the text may have %d bytes", maxBody)
	}
	if err != nil {
		return "", http.StatusBadRequest, fmt.Errorf("read the request: %w", err)
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	isJSON := kind == "application/json"
	// curl -d calls everything a form, so a body that begins like an object is taken for one.
	if !isJSON && kind != "text/plain" {
		isJSON = strings.HasPrefix(strings.TrimSpace(string(body)), "{")
	}
	if !isJSON {
		return wanted(string(body), "send a text")
	}
	var request struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return "", http.StatusBadRequest, fmt.Errorf(`expected {"text": "..."}: %w`, err)
	}
	return wanted(request.Text, `expected {"text": "..."}`)
}

func wanted(text, hint string) (string, int, error) {
	if strings.TrimSpace(text) == "" {
		return "", http.StatusBadRequest, errors.New("no text: " + hint)
	}
	return text, 0, nil
}

func writeError(w http.ResponseWriter, code int, message string) int {
	return writeJSON(w, code, map[string]string{"error": message})
}

func writeJSON(w http.ResponseWriter, code int, body any) int {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// A client that is gone cannot be told about it.
	_ = json.NewEncoder(w).Encode(body)
	return code
}
