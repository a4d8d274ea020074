package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"go.yaml.in/yaml/v3"
)

// The media types by which Helm finds a chart in a registry.
const (
	chartConfigType = types.MediaType("application/vnd.cncf.helm.config.v1+json")
	chartLayerType  = types.MediaType("application/vnd.cncf.helm.chart.content.v1.tar+gzip")
)

// chartFile reads Chart.yaml and returns it with the name of the chart.
func (s *settings) chartFile() (metadata map[string]any, chart string, err error) {
	data, err := os.ReadFile(filepath.Join(s.root, s.chart, "Chart.yaml"))
	if err != nil {
		return nil, "", err
	}
	if err := yaml.Unmarshal(data, &metadata); err != nil {
		return nil, "", fmt.Errorf("read Chart.yaml: %w", err)
	}
	chart, _ = metadata["name"].(string)
	if version, _ := metadata["version"].(string); chart == "" || version != s.version {
		return nil, "", fmt.Errorf("the file Chart.yaml has name %q and version %q, want version %q", chart, version, s.version)
	}
	return metadata, chart, nil
}

func (s *settings) chartPackage(chart string) string {
	return filepath.Join(s.out, chart+"-"+s.version+".tgz")
}

// packageChart writes the Helm chart as a package. `helm package` gives the same files, but with the time of the day in them.
func packageChart(s *settings, out io.Writer) error {
	_, chart, err := s.chartFile()
	if err != nil {
		return err
	}
	files := tree{}
	if err := files.addFiles(filepath.Join(s.root, s.chart), path.Join("/", chart)); err != nil {
		return err
	}
	// Helm reads Chart.yaml wherever it stands, but no entries of folders.
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	if err := files.write(compressed, false); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(s.chartPackage(chart), packed.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(out, s.chartPackage(chart))
	return nil
}

// pushChart pushes the package to BASE's registry, in the folder charts, where `helm install oci://...` finds it.
func pushChart(ctx context.Context, s *settings, out io.Writer) error {
	metadata, chart, err := s.chartFile()
	if err != nil {
		return err
	}
	packed, err := os.ReadFile(s.chartPackage(chart))
	if err != nil {
		return fmt.Errorf("it was not packaged: %w", err)
	}
	created, err := s.created()
	if err != nil {
		return err
	}
	image, err := chartImage(metadata, packed, created)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(path.Dir(s.base)+"/charts/"+chart+":"+s.version, name.StrictValidation)
	if err != nil {
		return err
	}
	if err := remote.Write(tag, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push %s: %w", tag, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "oci://%s@%s\n", tag, digest)
	return nil
}

// chartImage makes of a package what Helm expects of a registry: the metadata as configuration, the package as the layer.
func chartImage(metadata map[string]any, packed []byte, created time.Time) (v1.Image, error) {
	config, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	base := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	filled, err := mutate.Append(base, mutate.Addendum{Layer: static.NewLayer(packed, chartLayerType), MediaType: chartLayerType})
	if err != nil {
		return nil, err
	}
	told := map[string]string{annotation + "created": created.Format(time.RFC3339)}
	for annotated, field := range map[string]string{"title": "name", "version": "version", "description": "description"} {
		if text, is := metadata[field].(string); is {
			told[annotation+annotated] = text
		}
	}
	return &configured{Image: filled, config: config, annotations: told}, nil
}

// configured is an image whose configuration is no image configuration.
type configured struct {
	v1.Image
	config      []byte
	annotations map[string]string
}

func (c *configured) RawConfigFile() ([]byte, error) { return c.config, nil }

func (c *configured) ConfigName() (v1.Hash, error) {
	hash, _, err := v1.SHA256(bytes.NewReader(c.config))
	return hash, err
}

func (c *configured) Manifest() (*v1.Manifest, error) {
	manifest, err := c.Image.Manifest()
	if err != nil {
		return nil, err
	}
	manifest = manifest.DeepCopy()
	hash, size, err := v1.SHA256(bytes.NewReader(c.config))
	if err != nil {
		return nil, err
	}
	manifest.Config = v1.Descriptor{MediaType: chartConfigType, Digest: hash, Size: size}
	manifest.Annotations = maps.Clone(c.annotations)
	return manifest, nil
}

func (c *configured) RawManifest() ([]byte, error) {
	manifest, err := c.Manifest()
	if err != nil {
		return nil, err
	}
	return json.Marshal(manifest)
}

func (c *configured) Digest() (v1.Hash, error) {
	raw, err := c.RawManifest()
	if err != nil {
		return v1.Hash{}, err
	}
	hash, _, err := v1.SHA256(bytes.NewReader(raw))
	return hash, err
}

func (c *configured) Size() (int64, error) {
	raw, err := c.RawManifest()
	return int64(len(raw)), err
}
