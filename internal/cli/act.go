package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

// fieldOwner is the owner of what the plugin writes, so that it can be told from what others do.
const fieldOwner = client.FieldOwner("kubectl-aimodel")

func (s *session) scaleCommand() *cobra.Command {
	var replicas int32
	var force bool
	c := &cobra.Command{
		Use:     "scale NAME --replicas N",
		GroupID: groupAct,
		Short:   "Set the number of replicas",
		Long: "Set the number of replicas, through the scale subresource, as `kubectl scale` does.\n\n" +
			"An object whose replicas an autoscaler writes is left alone: it would put its own number back. The same goes for a model that\n" +
			"runs nothing itself.",
		Example: "  kubectl aimodel scale llama --replicas 3\n  kubectl aimodel scale llama --replicas 0 --force",
		Args:    oneName, ValidArgsFunction: s.completeNames,
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("replicas") {
				return errors.New("say how many replicas there are to be: --replicas N")
			}
			if replicas < 0 {
				return fmt.Errorf("--replicas must be at least 0, not %d", replicas)
			}
			object, err := s.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			writer, err := s.Client()
			if err != nil {
				return err
			}
			if !force {
				if err := mayScale(c.Context(), writer, object); err != nil {
					return err
				}
			}
			return s.scale(c.Context(), writer, object, replicas)
		},
	}
	c.Flags().Int32Var(&replicas, "replicas", 0, "`number` of pods")
	c.Flags().BoolVar(&force, "force", false, "also where an autoscaler writes the number, or where nothing runs")
	return c
}

func (s *session) scale(ctx context.Context, writer client.Client, object access.Object, replicas int32) error {
	scale := &autoscalingv1.Scale{}
	if err := writer.SubResource("scale").Get(ctx, object, scale); err != nil {
		return err
	}
	name := access.Short(access.KindOf(object), object.GetName())
	before := scale.Spec.Replicas
	if before == replicas {
		fmt.Fprintf(s.Out, "%s has %d replicas already\n", name, replicas)
		return nil
	}
	scale.Spec.Replicas = replicas
	if err := writer.SubResource("scale").Update(ctx, object, client.WithSubResourceBody(scale), fieldOwner); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%s scaled from %d to %d replicas\n", name, before, replicas)
	return nil
}

// mayScale refuses what would have no effect or be undone.
func mayScale(ctx context.Context, reader client.Reader, object access.Object) error {
	kind, name := access.KindOf(object), object.GetName()
	if model, ok := object.(*aiv1.AIModel); ok && model.Spec.Image == "" {
		return runsNothing(ctx, reader, model)
	}
	if svc, ok := object.(*aiv1.InferenceService); ok && svc.Spec.Autoscaling != nil {
		return fmt.Errorf("the autoscaler of %s writes its replicas: change spec.autoscaling instead, or add --force to set the number "+
			"until the autoscaler sets its own", access.Short(kind, name))
	}
	hpas := &autoscalingv2.HorizontalPodAutoscalerList{}
	if err := reader.List(ctx, hpas, client.InNamespace(object.GetNamespace())); err != nil {
		return err
	}
	for i := range hpas.Items {
		target := hpas.Items[i].Spec.ScaleTargetRef
		if target.Kind == kind && target.Name == name && strings.HasPrefix(target.APIVersion, aiv1.Group+"/") {
			return fmt.Errorf("HorizontalPodAutoscaler %q writes the replicas of %s: change or delete it, or add --force to set the number "+
				"until it sets its own", hpas.Items[i].Name, access.Short(kind, name))
		}
	}
	return nil
}

func runsNothing(ctx context.Context, reader client.Reader, model *aiv1.AIModel) error {
	if resolve.IsURL(model.Spec.Endpoint) {
		return fmt.Errorf("aim/%s is served at %s, so there is nothing to scale here", model.Name, model.Spec.Endpoint)
	}
	services := &aiv1.InferenceServiceList{}
	if err := reader.List(ctx, services, client.InNamespace(model.Namespace)); err != nil {
		return err
	}
	var names []string
	for i := range services.Items {
		if services.Items[i].Spec.ModelRef.Name == model.Name {
			names = append(names, access.Short(resolve.KindInferenceService, services.Items[i].Name))
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("aim/%s has no image, so it runs nothing; an InferenceService that names it in spec.modelRef would", model.Name)
	}
	return fmt.Errorf("aim/%s runs nothing itself: scale what serves it, %s", model.Name, strings.Join(names, " or "))
}

func (s *session) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "pause NAME",
		GroupID: groupAct,
		Short:   "Keep the operator from changing anything of a model",
		Long: "Set the annotation " + aiv1.AnnotationPaused + ". What runs goes on running, and status is kept up to date; until it is\n" +
			"resumed, the operator creates, changes and deletes nothing for the object. Its autoscaler, if it has one, is not stopped, but its " +
			"number\nhas no effect.",
		Example: "  kubectl aimodel pause llama",
		Args:    oneName, ValidArgsFunction: s.completeNames,
		RunE: func(c *cobra.Command, args []string) error { return s.setPaused(c.Context(), args[0], true) },
	}
}

func (s *session) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "resume NAME",
		GroupID: groupAct,
		Short:   "Let the operator go on after a pause",
		Long:    "Remove the annotation " + aiv1.AnnotationPaused + ". `kubectl aimodel diff NAME` shows beforehand what is going to change.",
		Example: "  kubectl aimodel resume llama",
		Args:    oneName, ValidArgsFunction: s.completeNames,
		RunE: func(c *cobra.Command, args []string) error { return s.setPaused(c.Context(), args[0], false) },
	}
}

func (s *session) setPaused(ctx context.Context, argument string, paused bool) error {
	object, err := s.find(ctx, argument)
	if err != nil {
		return err
	}
	writer, err := s.Client()
	if err != nil {
		return err
	}
	name := access.Short(access.KindOf(object), object.GetName())
	word := map[bool]string{true: "paused", false: "resumed"}[paused]
	if (object.GetAnnotations()[aiv1.AnnotationPaused] == "true") == paused {
		already := map[bool]string{true: "is paused already", false: "is not paused"}[paused]
		fmt.Fprintf(s.Out, "%s %s\n", name, already)
		return nil
	}
	before, ok := object.DeepCopyObject().(access.Object)
	if !ok {
		return fmt.Errorf("copy %T", object)
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if paused {
		annotations[aiv1.AnnotationPaused] = "true"
	} else {
		delete(annotations, aiv1.AnnotationPaused)
	}
	object.SetAnnotations(annotations)
	if err := writer.Patch(ctx, object, client.MergeFrom(before), fieldOwner); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%s %s\n", name, word)
	return nil
}
