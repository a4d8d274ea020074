package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	sbomType = types.MediaType("application/spdx+json")
	unstated = "NOASSERTION"
)

// document is an SPDX 2.3 document: the image, the modules that its programs were linked from, and its files.
type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []spdxPackage  `json:"packages"`
	Files         []spdxFile     `json:"files,omitempty"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID               string      `json:"SPDXID"`
	Name             string      `json:"name"`
	Version          string      `json:"versionInfo,omitempty"`
	Purpose          string      `json:"primaryPackagePurpose,omitempty"`
	Location         string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	LicenseConcluded string      `json:"licenseConcluded"`
	LicenseDeclared  string      `json:"licenseDeclared"`
	Copyright        string      `json:"copyrightText"`
	References       []reference `json:"externalRefs,omitempty"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxFile struct {
	ID        string     `json:"SPDXID"`
	Name      string     `json:"fileName"`
	Checksums []checksum `json:"checksums"`
	License   string     `json:"licenseConcluded"`
	Copyright string     `json:"copyrightText"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

const (
	documentID = "SPDXRef-DOCUMENT"
	imageID    = "SPDXRef-Image"
)

func newDocument(b *builder, i *image, platform v1.Platform) *document {
	d := &document{
		Version: "SPDX-2.3",
		License: "CC0-1.0",
		ID:      documentID,
		Name:    fmt.Sprintf("%s (%s)", b.reference(i), platform),
		Creation: creation{
			Created:  b.created.Format(time.RFC3339),
			Creators: []string{"Tool: " + toolName},
		},
	}
	d.Packages = append(d.Packages, spdxPackage{
		ID: imageID, Name: b.base + i.Suffix, Version: b.version, Purpose: "CONTAINER", Location: unstated,
		LicenseConcluded: unstated, LicenseDeclared: b.config.Licenses, Copyright: unstated,
	})
	d.relate(documentID, "DESCRIBES", imageID)
	return d
}

const toolName = "github.com/aimodel-operator/aimodel-operator/tools/images"

func (d *document) relate(from, kind, to string) {
	d.Relationships = append(d.Relationships, relationship{From: from, Type: kind, To: to})
}

// addProgram records what the Go linker wrote into the binary: the module of the program, those it was linked from, and the
// version of Go, whose standard library is in it.
func (d *document) addProgram(p program, binary []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return fmt.Errorf("read the build information of %s: %w", p.To, err)
	}
	version := d.Packages[0].Version
	main := d.addModule(info.Main.Path, version, "golang/"+info.Main.Path)
	d.relate(imageID, "CONTAINS", main)
	golang := strings.TrimPrefix(info.GoVersion, "go")
	d.relate(main, "DEPENDS_ON", d.addModule("stdlib", golang, "golang/stdlib"))
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		d.relate(main, "DEPENDS_ON", d.addModule(module.Path, module.Version, "golang/"+module.Path))
	}
	return nil
}

// addCertificates records the module that the certificate authorities are from.
func (d *document) addCertificates() error {
	info, found := debug.ReadBuildInfo()
	if !found {
		return fmt.Errorf("this program has no build information")
	}
	at := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == certificatesModule })
	if at < 0 {
		return fmt.Errorf("this program was not linked with %s", certificatesModule)
	}
	d.relate(imageID, "CONTAINS", d.addModule(certificatesModule, info.Deps[at].Version, "golang/"+certificatesModule))
	return nil
}

// addModule adds a package, once, and returns its identifier.
func (d *document) addModule(name, version, purl string) string {
	id := "SPDXRef-Package-" + identifier(name+"-"+version)
	if slices.ContainsFunc(d.Packages, func(p spdxPackage) bool { return p.ID == id }) {
		return id
	}
	d.Packages = append(d.Packages, spdxPackage{
		ID: id, Name: name, Version: version, Location: unstated,
		LicenseConcluded: unstated, LicenseDeclared: unstated, Copyright: unstated,
		References: []reference{{
			Category: "PACKAGE-MANAGER", Type: "purl",
			// A plus sign means a space to some readers of URLs.
			Locator: "pkg:" + purl + "@" + strings.ReplaceAll(version, "+", "%2B"),
		}},
	})
	return id
}

func (d *document) addFiles(t tree) {
	var names []string
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		sum := sha256.Sum256(t[name].data)
		id := "SPDXRef-File-" + identifier(name)
		d.Files = append(d.Files, spdxFile{
			ID: id, Name: "." + name, License: unstated, Copyright: unstated,
			Checksums: []checksum{{Algorithm: "SHA256", Value: hex.EncodeToString(sum[:])}},
		})
		d.relate(imageID, "CONTAINS", id)
	}
}

// identifier makes of any text what SPDX allows in an identifier. The hash keeps different texts different.
func identifier(text string) string {
	sum := sha256.Sum256([]byte(text))
	safe := strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') || r == '.' {
			return r
		}
		return '-'
	}, text)
	return safe + "-" + hex.EncodeToString(sum[:4])
}

// encode gives the document the name that SPDX wants to be unique, made from the layers, and returns it as JSON.
func (d *document) encode(layers []mutate.Addendum) ([]byte, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, d.Name)
	for _, layer := range layers {
		digest, err := layer.Layer.Digest()
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(sum, digest)
	}
	d.Namespace = "https://spdx.org/spdxdocs/" + identifier(d.Packages[0].Name) + "-" + hex.EncodeToString(sum.Sum(nil)[:16])
	data, err := json.MarshalIndent(d, "", " ")
	return append(data, '\n'), err
}

func documentLayer(data []byte) v1.Layer { return static.NewLayer(data, sbomType) }
