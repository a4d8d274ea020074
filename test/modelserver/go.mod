module github.com/aimodel-operator/aimodel-operator/test/modelserver

go 1.26.3

require github.com/jonreiter/govader v0.0.0-20250429093935-f6505c8d03cc

require gonum.org/v1/gonum v0.17.0 // indirect
