package oci

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

const (
	// typeModel and typeConfig are the media types of the ModelPack specification of the CNCF.
	typeModel  = "application/vnd.cncf.model.manifest.v1+json"
	typeConfig = "application/vnd.cncf.model.config.v1+json"
	// typeAdoption is a manifest that says who adopted the manifest of a tag beside it.
	typeAdoption = "application/vnd.ai.example.adoption.v1+json"

	// markReplaces is the digest that the manifest took the place of, and markTag the tag that an adoption is for.
	markReplaces = registry.MarkPrefix + "replaces"
	markTag      = registry.MarkPrefix + "tag"

	adoptionPrefix = "adoption-"
	tagHash        = 12
)

var emptyJSON = ocispec.DescriptorEmptyJSON

// document is a manifest of the operator's making: it describes, and holds no weights.
type document struct {
	artifactType string
	config       []byte // nil: the empty configuration
	configOf     ocispec.Descriptor
	annotations  map[string]string
}

// describe makes the manifest that says what a registration says.
func describe(r registry.Registration) document {
	config := modelConfig(r)
	annotations := map[string]string{}
	for name, value := range map[string]string{
		ocispec.AnnotationTitle: r.Name, ocispec.AnnotationVersion: r.Version, ocispec.AnnotationSource: r.SourceURI,
		ocispec.AnnotationRevision: r.SourceRevision, ocispec.AnnotationDescription: r.Description,
	} {
		if value != "" {
			annotations[name] = value
		}
	}
	maps.Copy(annotations, r.Stored(true))
	return document{artifactType: typeModel, config: config, configOf: blob(typeConfig, config), annotations: annotations}
}

// adoption makes the manifest that stands beside what somebody else pushed, and says who adopted it.
func adoption(r registry.Registration, tag string) document {
	annotations := r.Stored(false)
	annotations[markTag] = tag
	return document{artifactType: typeAdoption, configOf: emptyJSON, annotations: annotations}
}

// modelConfig is the configuration of the ModelPack specification.
func modelConfig(r registry.Registration) []byte {
	type descriptor struct {
		Name        string `json:"name"`
		Version     string `json:"version"`
		Description string `json:"description,omitempty"`
		SourceURL   string `json:"sourceURL,omitempty"`
		Revision    string `json:"revision,omitempty"`
	}
	type technical struct {
		Format string `json:"format,omitempty"`
	}
	type layers struct {
		Type    string          `json:"type"`
		DiffIDs []digest.Digest `json:"diffIds"`
	}
	raw, err := json.Marshal(struct {
		Descriptor descriptor `json:"descriptor"`
		Config     technical  `json:"config"`
		ModelFS    layers     `json:"modelfs"`
	}{
		descriptor{r.Name, r.Version, r.Description, r.SourceURI, r.SourceRevision},
		technical{r.Format}, layers{"layers", []digest.Digest{emptyJSON.Digest}},
	})
	if err != nil {
		panic(err) // strings always can be written
	}
	return raw
}

func blob(mediaType string, content []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
}

// bytes are the manifest, always the same for the same.
func (d document) bytes() []byte {
	layer := emptyJSON
	layer.Data = nil
	config := d.configOf
	config.Data = nil
	raw, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: d.artifactType,
		Config: config, Layers: []ocispec.Descriptor{layer}, Annotations: d.annotations,
	})
	if err != nil {
		panic(err) // it consists of strings and numbers
	}
	return raw
}

// pushed is a manifest as the registry has it.
type pushed struct {
	desc ocispec.Descriptor
	document
	// ours is false for what somebody else pushed, whatever its annotations say: one with weights was never the operator's.
	ours bool
}

// read reads a manifest that a registry sent.
func read(desc ocispec.Descriptor, raw []byte) *pushed {
	var manifest ocispec.Manifest
	if json.Unmarshal(raw, &manifest) != nil {
		return &pushed{desc: desc}
	}
	p := &pushed{desc: desc, document: document{
		artifactType: manifest.ArtifactType, configOf: manifest.Config, annotations: manifest.Annotations,
	}}
	p.ours = desc.MediaType == ocispec.MediaTypeImageManifest && len(manifest.Layers) == 1 &&
		manifest.Layers[0].Digest == emptyJSON.Digest && manifest.Subject == nil &&
		(manifest.ArtifactType == typeModel || manifest.ArtifactType == typeAdoption)
	return p
}

// marked is what the manifest's annotations say of its owner.
func (p *pushed) marked() registry.Marked {
	if p == nil || !p.ours {
		return registry.Marked{}
	}
	return registry.ReadMarks(p.annotations)
}

// changed is a copy of the document with other annotations.
func (d document) changed(set map[string]string, remove ...string) document {
	annotations := maps.Clone(d.annotations)
	for _, name := range remove {
		delete(annotations, name)
	}
	maps.Copy(annotations, set)
	d.annotations = annotations
	return d
}

var (
	tagPattern = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
	notInTag   = regexp.MustCompile(`[^a-zA-Z0-9._-]+`)
)

// tagOf makes a tag of a version: the version itself if it is one, or else what is left of it, and a hash that keeps it apart
// from every other.
func tagOf(version string) string {
	if tagPattern.MatchString(version) && !regexp.MustCompile(`^`+adoptionPrefix).MatchString(version) {
		return version
	}
	const most = 100
	readable := notInTag.ReplaceAllString(version, "-")
	if len(readable) > most {
		readable = readable[:most]
	}
	return "v_" + readable + "-" + shortHash(version)
}

// adoptionTag is where the adoption of a tag is said.
func adoptionTag(tag string) string { return adoptionPrefix + shortHash(tag) }

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:tagHash]
}
