package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/desired"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
)

func (s *session) renderCommand() *cobra.Command {
	var format string
	var files []string
	c := &cobra.Command{
		Use:     "render -f FILE",
		GroupID: groupPlan,
		Short:   "Print what the operator would apply for the objects of a file, without a cluster",
		Long: "Print the manifests that the operator would apply for the AIModels and InferenceServices of some files. No cluster is asked.\n\n" +
			"An InferenceService needs its AIModel among the documents. A Secret among them tells its type and the names of its keys; its\n" +
			"values are not used. What only a cluster can know is left out: the uid of the owner, and the digest that covers it, and the proxy\n" +
			"and images that the operator's environment may name. An object that was read from a cluster has its uid.",
		Example: "  kubectl aimodel render -f model.yaml\n  cat model.yaml service.yaml | kubectl aimodel render -f -\n" +
			"  kubectl get aim,infsvc -o yaml | kubectl aimodel render -f -",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			documents, err := s.readFiles(files)
			if err != nil {
				return err
			}
			maker, err := desired.NewMaker(s.warn, documents)
			if err != nil {
				return err
			}
			return s.renderAll(c.Context(), maker, documents.Objects, format)
		},
	}
	outputFlag(c, &format, output.YAML, output.JSON)
	filesFlag(c, &files)
	return c
}

// renderAll prints the manifests of all objects. One that cannot be rendered keeps no other from being.
func (s *session) renderAll(ctx context.Context, maker *desired.Maker, objects []access.Object, format string) error {
	var failed []error
	var manifests []*unstructured.Unstructured
	for _, object := range objects {
		made, err := maker.Make(ctx, object)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if made.Idle != "" {
			s.warn("nothing is applied for %s %q: %s", access.KindOf(object), object.GetName(), made.Idle)
		}
		manifests = append(manifests, made.Manifests()...)
	}
	failed = append(failed, s.printManifests(format, manifests))
	return errors.Join(failed...)
}

func filesFlag(c *cobra.Command, files *[]string) {
	c.Flags().StringSliceVarP(files, "filename", "f", nil,
		"`file` to read, a folder of files, or - for standard input; may be given several times")
}

// readFiles reads documents. What has no namespace gets the one that was typed, or else "default": what is printed must not
// depend on the context of whoever runs it.
func (s *session) readFiles(files []string) (*desired.Documents, error) {
	if len(files) == 0 {
		return nil, errors.New("name a file with -f, or - for standard input")
	}
	namespace := s.GivenNamespace()
	if namespace == "" {
		namespace = "default"
	}
	return s.readFilesInto(files, namespace)
}

func (s *session) readFilesInto(files []string, namespace string) (*desired.Documents, error) {
	documents, err := desired.ReadFiles(files, s.In, namespace)
	if err != nil {
		return nil, err
	}
	if len(documents.Others) > 0 {
		s.warn("passed over, for they are neither AIModel, InferenceService nor Secret: %s", strings.Join(documents.Others, ", "))
	}
	if len(documents.Objects) == 0 {
		return nil, fmt.Errorf("there is no AIModel or InferenceService of %s in %s", aiv1.GroupVersion, strings.Join(files, ", "))
	}
	return documents, nil
}

func (s *session) printManifests(format string, manifests []*unstructured.Unstructured) error {
	if format == output.JSON {
		items := make([]any, 0, len(manifests))
		for _, u := range manifests {
			items = append(items, u.Object)
		}
		return output.Print(s.Out, format, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	}
	for _, u := range manifests {
		data, err := yaml.Marshal(u.Object)
		if err != nil {
			return fmt.Errorf("encode %s %q: %w", u.GetKind(), u.GetName(), err)
		}
		if _, err := fmt.Fprintf(s.Out, "---\n%s", data); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) diffCommand() *cobra.Command {
	var files []string
	c := &cobra.Command{
		Use:     "diff (NAME | -f FILE)",
		GroupID: groupPlan,
		Short:   "Compare what is in the cluster with what the operator would apply",
		Long: "Compare the objects that the operator keeps with what it would apply: for an object of the cluster, or for one of a file as if\n" +
			"it were applied. Only fields that the operator owns are compared: what others added, and what the API server defaulted, is not.\n" +
			"A proxy and images that the operator's Deployment names in its environment are taken into account.\n\n" +
			"The exit code is 0 when there is no difference, 1 when there is one, and 2 after an error.",
		Example:           "  kubectl aimodel diff llama\n  kubectl aimodel diff -f llama.yaml",
		ValidArgsFunction: s.completeNames,
		Args: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == (len(files) > 0) || len(args) > 1 {
				return fmt.Errorf("name one object, or files with -f: %s NAME", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			reader, err := s.Client()
			if err != nil {
				return err
			}
			objects, sources, err := s.toCompare(c.Context(), reader, args, files)
			if err != nil {
				return err
			}
			maker, err := desired.NewMaker(s.warn, sources...)
			if err != nil {
				return err
			}
			maker.Site = s.site(c.Context(), reader)
			return s.compareAll(c.Context(), maker, reader, objects)
		},
	}
	filesFlag(c, &files)
	return c
}

// compareAll prints every difference. An object that cannot be compared keeps no other from being.
func (s *session) compareAll(ctx context.Context, maker *desired.Maker, reader client.Reader, objects []access.Object) error {
	var failed []error
	different := false
	for _, object := range objects {
		made, err := maker.Make(ctx, object)
		var differences []desired.Difference
		if err == nil {
			differences, err = maker.Compare(ctx, reader, made)
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if object.GetAnnotations()[aiv1.AnnotationPaused] == "true" && len(differences) > 0 {
			s.warn("%s %q is paused: the operator applies nothing for it until it is resumed", access.KindOf(object), object.GetName())
		}
		different = different || len(differences) > 0
		s.printDifferences(differences)
	}
	switch {
	case len(failed) > 0:
		return errors.Join(failed...)
	case different:
		return &exit{exitDifferent}
	}
	return nil
}

// toCompare gives the objects to compare, and where to look up what they refer to.
func (s *session) toCompare(ctx context.Context, reader client.Reader, args, files []string) ([]access.Object, []desired.Source, error) {
	live := desired.Live{Reader: reader}
	if len(args) == 1 {
		object, err := s.find(ctx, args[0])
		return []access.Object{object}, []desired.Source{live}, err
	}
	namespace, err := s.Namespace()
	if err != nil {
		return nil, nil, err
	}
	documents, err := s.readFilesInto(files, namespace)
	if err != nil {
		return nil, nil, err
	}
	for _, object := range documents.Objects {
		if err := takeIdentity(ctx, reader, object); err != nil {
			return nil, nil, err
		}
	}
	return documents.Objects, []desired.Source{documents, live}, nil
}

// takeIdentity gives an object of a file the uid and the status of the one in the cluster, if there is one.
func takeIdentity(ctx context.Context, reader client.Reader, object access.Object) error {
	live, ok := object.DeepCopyObject().(access.Object)
	if !ok {
		return fmt.Errorf("copy %T", object)
	}
	err := reader.Get(ctx, client.ObjectKeyFromObject(object), live)
	if apierrors.IsNotFound(err) {
		object.SetUID("")
		*object.GetServingStatus() = aiv1.ServingStatus{}
		return nil
	}
	if err != nil {
		return err
	}
	object.SetUID(live.GetUID())
	*object.GetServingStatus() = *live.GetServingStatus()
	return nil
}

func (s *session) printDifferences(differences []desired.Difference) {
	for _, difference := range differences {
		for line := range strings.Lines(difference.Text) {
			line = strings.TrimSuffix(line, "\n")
			switch {
			case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
				line = s.style.Bold(line)
			case strings.HasPrefix(line, "-"):
				line = s.style.Removed(line)
			case strings.HasPrefix(line, "+"):
				line = s.style.Added(line)
			}
			fmt.Fprintln(s.Out, line)
		}
	}
}
