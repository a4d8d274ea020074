package main

import "github.com/jonreiter/govader"

// scores is how much of a text is positive, neutral and negative (they add up to 1), and the sum of it from -1 to 1.
type scores struct {
	Positive float64 `json:"positive"`
	Neutral  float64 `json:"neutral"`
	Negative float64 `json:"negative"`
	Compound float64 `json:"compound"`
}

// threshold is where VADER's authors part neutral from the rest.
const threshold = 0.05

// model is read-only once made, so requests share it.
type model struct {
	analyzer *govader.SentimentIntensityAnalyzer
}

func newModel() *model {
	return &model{analyzer: govader.NewSentimentIntensityAnalyzer()}
}

func (m *model) classify(text string) (string, scores) {
	s := m.analyzer.PolarityScores(text)
	label := "neutral"
	switch {
	case s.Compound >= threshold:
		label = "positive"
	case s.Compound <= -threshold:
		label = "negative"
	}
	return label, scores{Positive: s.Positive, Neutral: s.Neutral, Negative: s.Negative, Compound: s.Compound}
}
