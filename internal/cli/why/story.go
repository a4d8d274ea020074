// Package why tells why an object is not ready: it gathers everything that belongs to it, marks the cause and says what to do.
// It reads the cluster and changes nothing. Of a Secret it reads whether it is there, never what is in it.
package why

import (
	"time"

	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

// Health says how a part of the story is doing.
type Health string

// The healths.
const (
	Fine    Health = "fine"
	Waiting Health = "waiting"
	Broken  Health = "broken"
	// Unknown is what could not be looked at.
	Unknown Health = "unknown"
)

// Story is an object with everything that belongs to it.
type Story struct {
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Ready     string    `json:"ready"`
	Reason    string    `json:"reason"`
	Message   string    `json:"message,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	// Meaning and Advice are for the reason. Empty when nothing is wrong.
	Meaning string `json:"meaning,omitempty"`
	Advice  string `json:"advice,omitempty"`
	// Found is what a look at the pods finds wrong just now, the most telling first. The operator may have looked earlier.
	Found []diagnose.Finding `json:"found,omitempty"`
	Tree  *Part              `json:"tree"`
}

// Part is one object of the story.
type Part struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Health Health `json:"health"`
	// State says how it is, in a few words.
	State string `json:"state,omitempty"`
	// Cause is true for the one part that keeps the object from being ready.
	Cause bool `json:"cause,omitempty"`
	// Notes are sentences about it: what it says itself, and its warnings.
	Notes []string `json:"notes,omitempty"`
	Parts []*Part  `json:"parts,omitempty"`

	uid string
	// reason is what diagnosis found about a pod, or what a reference lacks.
	reason string
	// foreign is a child's name that somebody else holds.
	foreign bool
}

func (p *Part) add(parts ...*Part) {
	for _, part := range parts {
		if part != nil {
			p.Parts = append(p.Parts, part)
		}
	}
}

func (p *Part) note(text string) {
	for _, known := range p.Notes {
		if known == text {
			return
		}
	}
	if text != "" {
		p.Notes = append(p.Notes, text)
	}
}

// find gives the first part, from the top, that matches.
func (p *Part) find(matches func(*Part) bool) *Part {
	if matches(p) {
		return p
	}
	for _, part := range p.Parts {
		if found := part.find(matches); found != nil {
			return found
		}
	}
	return nil
}

func advise(story *Story, reason string) {
	if entry, known := diagnose.Lookup(reason); known {
		story.Meaning, story.Advice = entry.Meaning, entry.Advice
	}
}
