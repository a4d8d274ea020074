// Package values works out the values of the chart from what is asked for: the preset of the runtime, under what the
// spec says, under the user's own chart values.
//
// It is pure, and must not know how charts are rendered: its only reading is of the presets that are embedded beside
// the chart.
package values
