package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func loadedServer(t *testing.T, opts options) *server {
	t.Helper()
	if opts.Path == "" {
		opts.Path = "/v1/inference/sentiment"
	}
	s := newServer(opts)
	if err := s.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func get(s *server, target string) *httptest.ResponseRecorder {
	return send(s, httptest.NewRequest(http.MethodGet, target, http.NoBody))
}

func send(s *server, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestInference(t *testing.T) {
	s := loadedServer(t, options{ModelName: "mood", ModelVersion: "2", ServedBy: "pod-1"})
	tests := []struct {
		name, contentType, body, query, want string
	}{
		{name: "JSON", contentType: "application/json", body: `{"text": "I love this, it is wonderful"}`, want: "positive"},
		{name: "JSON that curl calls a form", contentType: "application/x-www-form-urlencoded", body: ` {"text": "This is a horrible disaster"}`, want: "negative"},
		{name: "plain text", contentType: "text/plain; charset=utf-8", body: "The meeting is on Tuesday", want: "neutral"},
		{name: "plain text that looks like an object", contentType: "text/plain", body: "{great}", want: "positive"},
		{name: "no content type", body: "not good", want: "negative"},
		{name: "GET", query: "?text=what+a+great+day", want: "positive"},
		{name: "an emoji", body: "😀", want: "positive"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/v1/inference/sentiment", strings.NewReader(tt.body))
			if tt.query != "" {
				r = httptest.NewRequest(http.MethodGet, "/v1/inference/sentiment"+tt.query, http.NoBody)
			}
			r.Header.Set("Content-Type", tt.contentType)
			w := send(s, r)
			if w.Code != http.StatusOK {
				t.Fatalf("got %d %s, want 200", w.Code, w.Body)
			}
			var got answer
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if got.Label != tt.want {
				t.Errorf("got %q (%+v), want %q", got.Label, got.Scores, tt.want)
			}
			if got.Model != "mood" || got.ModelVersion != "2" || got.ServedBy != "pod-1" {
				t.Errorf("the answer does not say who gave it: %+v", got)
			}
		})
	}
}

func TestRequestsThatAreWrong(t *testing.T) {
	s := loadedServer(t, options{})
	post := func(contentType, body string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, s.opts.Path, strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		return r
	}
	tests := []struct {
		name    string
		request *http.Request
		want    int
	}{
		{"no text in the query", httptest.NewRequest(http.MethodGet, s.opts.Path, http.NoBody), http.StatusBadRequest},
		{"an empty body", post("text/plain", " \n"), http.StatusBadRequest},
		{"broken JSON", post("application/json", `{"text": `), http.StatusBadRequest},
		{"JSON without text", post("application/json", `{"prompt": "x"}`), http.StatusBadRequest},
		{"a text that is no string", post("application/json", `{"text": 1}`), http.StatusBadRequest},
		{"too much text", post("text/plain", strings.Repeat("x", maxBody+1)), http.StatusRequestEntityTooLarge},
		{"another method", httptest.NewRequest(http.MethodDelete, s.opts.Path, http.NoBody), http.StatusMethodNotAllowed},
		{"writing to /health", httptest.NewRequest(http.MethodPost, "/health", http.NoBody), http.StatusMethodNotAllowed},
		{"another path", httptest.NewRequest(http.MethodGet, "/v2", http.NoBody), http.StatusNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := send(s, tt.request)
			if w.Code != tt.want || !strings.Contains(w.Body.String(), `"error"`) {
				t.Errorf("got %d %s, want %d with an error", w.Code, w.Body, tt.want)
			}
		})
	}
}

func TestAnyPath(t *testing.T) {
	for _, path := range []string{"/", "/{x}", "/a/../b", "/true"} {
		s := loadedServer(t, options{Path: path})
		r := httptest.NewRequest(http.MethodGet, "/?text=fine", http.NoBody)
		r.URL.Path = path
		if w := send(s, r); w.Code != http.StatusOK {
			t.Errorf("%s: got %d %s, want 200", path, w.Code, w.Body)
		}
	}
}

func TestLoadingTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(options{Path: "/p", LoadDelay: time.Minute})
		go func() { _ = s.load(t.Context()) }()

		time.Sleep(time.Minute - time.Second)
		synctest.Wait()
		for target, want := range map[string]int{"/health": 503, "/p?text=good": 503, "/metrics": 200, "/v1/models": 200} {
			if w := get(s, target); w.Code != want {
				t.Errorf("while loading, %s gives %d, want %d", target, w.Code, want)
			}
		}
		if body := get(s, "/v1/models").Body.String(); !strings.Contains(body, `"data":[]`) {
			t.Errorf("a model is listed before it is loaded: %s", body)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for _, target := range []string{"/health", "/p?text=good"} {
			if w := get(s, target); w.Code != http.StatusOK {
				t.Errorf("once loaded, %s gives %d %s, want 200", target, w.Code, w.Body)
			}
		}
	})
}

func TestHealthFailsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := loadedServer(t, options{FailHealthAfter: moment{set: true, after: time.Minute}})
		if w := get(s, "/health"); w.Code != http.StatusOK {
			t.Errorf("at first got %d, want 200", w.Code)
		}
		time.Sleep(time.Minute)
		if w := get(s, "/health"); w.Code != http.StatusServiceUnavailable {
			t.Errorf("later got %d, want 503", w.Code)
		}
	})
}

func TestModels(t *testing.T) {
	s := loadedServer(t, options{ModelName: "mood", ModelVersion: "2"})
	var got struct {
		Object string
		Data   []struct{ ID, Object, Version string }
	}
	if err := json.Unmarshal(get(s, "/v1/models").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Object != "list" || len(got.Data) != 1 || got.Data[0].ID != "mood" || got.Data[0].Version != "2" {
		t.Errorf("got %+v, want the one model", got)
	}
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := loadedServer(t, options{ModelName: "a\"b\nc", Concurrency: 2, RequestDelay: time.Second})
		for range 5 {
			go get(s, s.opts.Path+"?text=good")
		}
		synctest.Wait()
		expectMetrics(t, s, "modelserver_requests_waiting 3", "modelserver_requests_in_flight 2",
			"modelserver_model_loaded 1", `modelserver_model_info{name="a\"b\nc",version=""} 1`)

		time.Sleep(10 * time.Second)
		synctest.Wait()
		expectMetrics(t, s, "modelserver_requests_waiting 0", "modelserver_requests_in_flight 0",
			`modelserver_requests_total{code="200"} 5`,
			// Two took 1 s, two 2 s and the last 3 s.
			`modelserver_request_duration_seconds_bucket{le="1"} 2`,
			`modelserver_request_duration_seconds_bucket{le="5"} 5`,
			"modelserver_request_duration_seconds_sum 9", "modelserver_request_duration_seconds_count 5")
	})
}

func TestQueueForgetsClientsThatLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := loadedServer(t, options{Concurrency: 1, RequestDelay: time.Hour})
		go get(s, s.opts.Path+"?text=good")
		synctest.Wait()
		r := httptest.NewRequest(http.MethodGet, s.opts.Path+"?text=good", http.NoBody)
		ctx, cancel := contextOf(t)
		go send(s, r.WithContext(ctx))
		synctest.Wait()
		expectMetrics(t, s, "modelserver_requests_waiting 1")
		cancel()
		synctest.Wait()
		expectMetrics(t, s, "modelserver_requests_waiting 0", `modelserver_requests_total{code="499"} 1`)
		time.Sleep(2 * time.Hour)
	})
}

func expectMetrics(t *testing.T, s *server, lines ...string) {
	t.Helper()
	body := get(s, "/metrics").Body.String()
	for _, line := range lines {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("no line %q in the metrics:\n%s", line, body)
		}
	}
}
