package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// buckets are the upper bounds, in seconds, of the latency histogram.
var buckets = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120}

// metrics counts finished inference requests.
type metrics struct {
	mu     sync.Mutex
	codes  map[int]int64
	counts []int64
	sum    float64
}

func newMetrics() *metrics {
	return &metrics{codes: map[int]int64{}, counts: make([]int64, len(buckets))}
}

func (m *metrics) observe(code int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.codes[code]++
	m.sum += took.Seconds()
	for i, bound := range buckets {
		if took.Seconds() <= bound {
			m.counts[i]++
		}
	}
}

// metricsText returns everything in Prometheus's text format.
func (s *server) metricsText() string {
	var text strings.Builder
	head := func(name, kind, help string) {
		fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	gauge := func(name, help string, value int64) {
		head(name, "gauge", help)
		fmt.Fprintf(&text, "%s %d\n", name, value)
	}
	head("modelserver_model_info", "gauge", "The model that is served.")
	text.WriteString("modelserver_model_info{" + label("name", s.opts.ModelName) + "," + label("version", s.opts.ModelVersion) + "} 1\n")
	loaded := int64(0)
	if s.model.Load() != nil {
		loaded = 1
	}
	gauge("modelserver_model_loaded", "1 once the model is loaded.", loaded)
	gauge("modelserver_requests_waiting", "Inference requests that wait for their turn.", s.queue.waiting.Load())
	gauge("modelserver_requests_in_flight", "Inference requests that are being answered.", s.queue.running.Load())

	m := s.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	head("modelserver_requests_total", "counter", "Inference requests, by status code.")
	total := int64(0)
	for _, code := range slices.Sorted(maps.Keys(m.codes)) {
		fmt.Fprintf(&text, "modelserver_requests_total{%s} %d\n", label("code", strconv.Itoa(code)), m.codes[code])
		total += m.codes[code]
	}
	const histogram = "modelserver_request_duration_seconds"
	head(histogram, "histogram", "Time from the arrival of an inference request to its answer, waiting included.")
	for i, bound := range buckets {
		fmt.Fprintf(&text, "%s_bucket{%s} %d\n", histogram, label("le", strconv.FormatFloat(bound, 'g', -1, 64)), m.counts[i])
	}
	fmt.Fprintf(&text, "%s_bucket{%s} %d\n", histogram, label("le", "+Inf"), total)
	fmt.Fprintf(&text, "%s_sum %g\n%s_count %d\n", histogram, m.sum, histogram, total)
	return text.String()
}

// labelEscaper knows the three characters that the text format escapes.
var labelEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func label(name, value string) string {
	return name + `="` + labelEscaper.Replace(value) + `"`
}
