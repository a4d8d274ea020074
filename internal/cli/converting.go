package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/convert"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/files"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
)

func (s *session) convertCommand() *cobra.Command {
	var format, image string
	var names []string
	c := &cobra.Command{
		Use:     "convert -f FILE",
		GroupID: groupPlan,
		Short:   "Turn KServe InferenceServices and NVIDIA NIMServices into this operator's kinds",
		Long: "Turn the objects of other serving systems into an AIModel and an InferenceService each, without a cluster: the\n" +
			"InferenceService of KServe (serving.kserve.io/v1beta1) and the NIMService of NVIDIA (apps.nvidia.com/v1alpha1).\n\n" +
			"The objects go to standard output. Standard error names everything that could not be carried over, and why: read it before the\n" +
			"result is applied. A ServingRuntime among the documents says which server the models have that name it, or whose format it\n" +
			"selects; a NIMCache says which claim holds the weights.",
		Example: "  kubectl aimodel convert -f kserve.yaml > models.yaml\n" +
			"  kubectl get inferenceservices.serving.kserve.io -o yaml | kubectl aimodel convert -f -\n" +
			"  kubectl aimodel convert -f sklearn.yaml --image example.com/sklearn-server:1.4",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if len(names) == 0 {
				return errors.New("name a file with -f, or - for standard input")
			}
			converter := &convert.Converter{Image: image}
			if err := files.Read(names, s.In, converter.Add); err != nil {
				return err
			}
			return s.printConverted(format, converter, names)
		},
	}
	outputFlag(c, &format, output.YAML, output.JSON)
	filesFlag(c, &names)
	c.Flags().StringVar(&image, "image", "", "server `image` for what names none")
	return c
}

func (s *session) printConverted(format string, converter *convert.Converter, names []string) error {
	results := converter.Convert()
	if len(converter.Skipped) > 0 {
		s.warn("passed over, for there is nothing to turn them into: %s", strings.Join(converter.Skipped, ", "))
	}
	if len(results) == 0 {
		return fmt.Errorf("there is no InferenceService of KServe and no NIMService of NVIDIA in %s", strings.Join(names, ", "))
	}
	var failed []error
	var manifests []*unstructured.Unstructured
	for _, result := range results {
		failed = append(failed, result.Err)
		for _, note := range result.Notes {
			s.warn("%s: not carried over: %s", result.Source, note)
		}
		for _, object := range result.Objects {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
			if err != nil {
				return fmt.Errorf("encode %s: %w", object.GetName(), err)
			}
			delete(content, "status")
			unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
			manifests = append(manifests, &unstructured.Unstructured{Object: content})
		}
	}
	return errors.Join(append(failed, s.printManifests(format, manifests))...)
}
