package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/follow"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

func (s *session) watchCommand() *cobra.Command {
	var format, crd string
	var all bool
	c := &cobra.Command{
		Use:     "watch (NAME | --crd GROUP/KIND [NAME])",
		GroupID: groupLook,
		Short:   "Follow a model and its pods, or any custom resource, and print each transition",
		Long: "Follow a model and its pods: print each transition of a condition, of the replicas and of a pod as a line, until Ctrl-C. A\n" +
			"lost connection is made anew.\n\n" +
			"With --crd, follow the objects of any kind that the cluster has, found out at run time: their conditions, phase and replicas.",
		Example: "  kubectl aimodel watch llama\n  kubectl aimodel watch --crd ai.example.com/AIModel -A\n" +
			"  kubectl aimodel watch --crd gateway.networking.k8s.io/HTTPRoute llama -o json",
		ValidArgsFunction: s.completeNames,
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case crd == "" && all:
				return errors.New("--all-namespaces goes with --crd: `kubectl aimodel status -A` shows all models")
			case crd == "":
				return oneName(c, args)
			case len(args) > 1 || (len(args) == 1 && all):
				return errors.New("name one object of one namespace, or none to follow all")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			namespace, err := s.Namespace()
			if err != nil {
				return err
			}
			var subjects []follow.Subject
			if crd == "" {
				subjects, err = s.modelAndPods(c, args[0])
			} else {
				if all {
					namespace = ""
				}
				subjects, err = s.customResource(crd, namespace, args)
			}
			if err != nil {
				return err
			}
			return s.follow(c, format, subjects)
		},
	}
	outputFlag(c, &format, output.Table, output.JSON)
	c.Flags().StringVar(&crd, "crd", "", "`GROUP/KIND` of custom resources to follow")
	c.Flags().BoolVarP(&all, "all-namespaces", "A", false, "with --crd: follow those of all namespaces")
	return c
}

// modelAndPods are the objects to follow for one model.
func (s *session) modelAndPods(c *cobra.Command, argument string) ([]follow.Subject, error) {
	object, err := s.find(c.Context(), argument)
	if err != nil {
		return nil, err
	}
	resource := "aimodels"
	if access.KindOf(object) == resolve.KindInferenceService {
		resource = "inferenceservices"
	}
	return []follow.Subject{
		{Resource: aiv1.GroupVersion.WithResource(resource), Namespace: object.GetNamespace(), Name: object.GetName()},
		{
			Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: object.GetNamespace(),
			Labels: access.PodSelector(object).String(),
			Want:   func(pod *unstructured.Unstructured) bool { return access.Serves(pod, object) },
		},
	}, nil
}

func (s *session) customResource(crd, namespace string, args []string) ([]follow.Subject, error) {
	discovery, err := s.Discovery()
	if err != nil {
		return nil, err
	}
	kind, err := follow.Discover(discovery, crd)
	if err != nil {
		return nil, err
	}
	subject := follow.Subject{Resource: kind.Resource, Namespace: namespace, Name: strings.Join(args, "")}
	if !kind.Namespaced {
		subject.Namespace = ""
	}
	return []follow.Subject{subject}, nil
}

func (s *session) follow(c *cobra.Command, format string, subjects []follow.Subject) error {
	client, err := s.Dynamic()
	if err != nil {
		return err
	}
	follower := &follow.Follower{
		Client: client, Now: s.Now,
		Emit: func(line follow.Line) { s.printLine(format, line) },
		Lost: func(err error) { s.warn("the connection is lost and is made anew: %s", sentenceOf(err)) },
	}
	return follower.Run(c.Context(), subjects...)
}

func (s *session) printLine(format string, line follow.Line) {
	if format == output.JSON {
		// Nothing in a line can fail to be encoded.
		data, _ := json.Marshal(line)
		fmt.Fprintf(s.Out, "%s\n", data)
		return
	}
	fmt.Fprintln(s.Out, lineText(s.style, line))
}

func lineText(style output.Style, line follow.Line) string {
	paint := style.Waiting
	switch word, _, _ := strings.Cut(line.To, " "); {
	case word == "True", word == "Running", word == "running":
		paint = style.Good
	case word == "False", word == "Failed", word == "Unschedulable", strings.HasSuffix(word, "BackOff"):
		paint = style.Bad
	}
	change := paint(output.OneLine(line.To))
	switch {
	case line.From != "" && line.To == "":
		change = style.Dim("no longer " + output.OneLine(line.From))
	case line.From != "":
		change = output.OneLine(line.From) + " -> " + change
	}
	text := fmt.Sprintf("%s  %s  %s: %s", style.Dim(line.Time.Format("15:04:05")), style.Bold(line.Kind+"/"+line.Name), line.What, change)
	if line.Detail != "" {
		text += ": " + output.OneLine(line.Detail)
	}
	return text
}
