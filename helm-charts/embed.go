// Package helmcharts holds the charts that the operator renders, as they stand in this folder. It must not interpret
// them.
package helmcharts

import "embed"

// ModelServer is the folder of the chart that serves one model. The prefix "all:" keeps _helpers.tpl, which embed
// would leave out.
//
//go:embed all:model-server
var ModelServer embed.FS

// ModelServerDir is the folder of the chart in ModelServer.
const ModelServerDir = "model-server"

// PresetsDir is the folder of the runtime presets in ModelServer, one file named after each runtime.
const PresetsDir = ModelServerDir + "/presets"
