// Command otelcol is an OpenTelemetry collector with the parts that tests need: it receives OTLP, and sends on what it received.
// Its own code is this list; the rest is the collector's.
package main

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry"
	"go.uber.org/zap"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "otelcol:", err)
		os.Exit(1)
	}
}

// run runs the collector until it is told to end. `otelcol --config FILE` is how it is called.
func run() error {
	return otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol", Description: "Collector of tests", Version: "0.165.0"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			DefaultScheme: "file", ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()}}},
	}).Execute()
}

func factories() (otelcol.Factories, error) {
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](otlphttpexporter.NewFactory())
	return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: telemetry.NewFactory(
		func() component.Config { return &struct{}{} }, telemetry.WithCreateLogger(logs))}, err
}

// logs makes the log of the collector. Of the telemetry that it can have of itself there is no other: what that needs takes
// longer to compile than all of the rest.
func logs(
	_ context.Context, settings telemetry.LoggerSettings, _ component.Config,
) (*zap.Logger, component.ShutdownFunc, error) {
	log, err := settings.BuildZapLogger(zap.NewProductionConfig())
	return log, nil, err
}
