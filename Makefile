# Everything here needs Go, make, git and bash, and reaches no network but the Go module proxy. A C compiler is used where
# there is one: the race detector needs it. `make help` lists the commands.

VERSION ?= 0.1.0
IMAGE_TAG_BASE ?= example.com/aimodel-operator
IMG ?= $(IMAGE_TAG_BASE):$(VERSION)

# Those that the Deployment asks for nodes of.
PLATFORMS ?= linux/amd64,linux/arm64,linux/ppc64le,linux/s390x
SOURCE_URL ?= https://github.com/aimodel-operator/aimodel-operator
# The commit and its date stand in images instead of the time of the build: the same sources give the same images.
REVISION ?= $(shell git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null || echo unknown)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

# The program that `make image` builds an image with: docker, podman or buildah.
CONTAINER_TOOL ?= docker

KUBECTL ?= $(shell command -v kubectl || echo $(CURDIR)/bin/kubectl)
NAMESPACE := aimodel-operator-system

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.SUFFIXES:

# A go.work of the developer's may not change what is built.
export GOWORK := off

# FORCE hands the question whether a file is out of date to the command that builds it: Go and the scripts know their
# inputs exactly, and do nothing when none of them changed.
.PHONY: FORCE
FORCE:

##@ First steps

.PHONY: help
help: ## Print this list.
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-zA-Z0-9_-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "Variables: VERSION=$(VERSION) IMG=$(IMG) KUBECONFIG=$${KUBECONFIG:-(the default)}"

.PHONY: demo
demo: localkube build plugin modelserver ## Watch models being served, scaled and explained on a local control plane. KEEP=1 leaves it running.
	@exec hack/demo.sh

.PHONY: demo-down
demo-down: ## Take down what `make demo KEEP=1` left running.
	@exec hack/demo.sh down

.PHONY: localkube
localkube: ## Build the local control plane into bin/ (the first time takes 10 to 20 minutes).
	@hack/build-localkube.sh >&2

# What goes to standard output is one line for the shell: eval "$(make localkube-up)"
LOCALKUBE_FLAGS ?= --node name=h100,count=2,gpus=8,product=NVIDIA-H100-80GB-HBM3,memory=80Gi

.PHONY: localkube-up
localkube-up: localkube ## Start a local control plane that stays, and print the export line for KUBECONFIG.
	@bin/localkube status >/dev/null 2>&1 || bin/localkube up --detach $(LOCALKUBE_FLAGS) >/dev/null
	@echo "export KUBECONFIG=$$(bin/localkube status | sed -n 's/^kubeconfig *//p')"

.PHONY: localkube-down
localkube-down: ## Stop the local control plane and delete its data.
	@[ ! -x bin/localkube ] || bin/localkube down

##@ Build

.PHONY: build
build: bin/manager ## Build the operator into bin/manager.

# A build outside a checkout knows no commit.
COMMIT ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

bin/manager: FORCE
	@CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "$(LDFLAGS)" -o $@ ./cmd/manager

.PHONY: plugin
plugin: bin/kubectl-aimodel bin/kubectl_complete-aimodel ## Build the kubectl plugin into bin/kubectl-aimodel.

bin/kubectl-aimodel: FORCE
	@CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "$(LDFLAGS)" -o $@ ./cmd/kubectl-aimodel

PLUGIN_PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
PLUGIN_URL ?= https://github.com/aimodel-operator/aimodel-operator/releases/download/v$(VERSION)

.PHONY: plugin-dist
plugin-dist: ## Build the kubectl plugin for PLUGIN_PLATFORMS into dist/plugin, with checksums and a Krew manifest.
	@rm -rf dist/plugin && mkdir -p dist/plugin
	@for platform in $(PLUGIN_PLATFORMS); do \
		os=$${platform%/*} arch=$${platform#*/}; \
		suffix=""; [ "$$os" != windows ] || suffix=.exe; \
		echo "  BUILD $$platform"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -buildvcs=false -trimpath -ldflags "$(LDFLAGS)" \
			-o "dist/plugin/$$os-$$arch/kubectl-aimodel$$suffix" ./cmd/kubectl-aimodel; \
	done
	@go run ./hack/krew -dir dist/plugin -version $(VERSION) -url $(PLUGIN_URL)
	@echo "  GEN   dist/plugin/aimodel.yaml, checksums.txt"

bin/kubectl_complete-aimodel: hack/krew/kubectl_complete-aimodel
	@install -m 755 $< $@

# Scorecard tests of an installed operator.
bin/scorecard: FORCE
	@CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $@ ./cmd/scorecard

.PHONY: modelserver
modelserver: bin/modelserver ## Build the small sentiment model that the demo and the tests serve.

bin/modelserver: FORCE
	@cd test/modelserver && CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "-s -w" -o ../../$@ .

# The OpenTelemetry collector that the integration tests send traces to.
.PHONY: otelcol
otelcol: bin/otelcol

bin/otelcol: FORCE
	@cd test/collector && CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "-s -w" -o ../../$@ .

# Which images there are is in tools/images/images.yaml. IMAGES="manager bundle" limits the two commands to these.
IMAGES_OUT ?= dist/images
IMAGES_FLAGS = -base $(IMAGE_TAG_BASE) -version $(VERSION) -out $(IMAGES_OUT)
IMAGES ?= $(shell sed -n 's/^- name: //p' tools/images/images.yaml)

# The catalog names the image of the bundle by its digest, so that one is built before it.
.PHONY: images
images: bin/images $(if $(filter catalog,$(IMAGES)),bin/opm) ## Build all images for all PLATFORMS into dist/images/, without a container engine.
	@for image in $(IMAGES); do \
		[ "$$image" != catalog ] || hack/catalog.sh "$(IMAGE_TAG_BASE)-bundle@$$(bin/images digest -out $(IMAGES_OUT) bundle)"; \
		bin/images build $(IMAGES_FLAGS) -platforms $(PLATFORMS) -source $(SOURCE_URL) -revision $(REVISION) -time $(SOURCE_DATE_EPOCH) $$image; \
	done

.PHONY: push
push: bin/images ## Push what `make images` built to the registry of IMAGE_TAG_BASE.
	@bin/images push $(IMAGES_FLAGS) $(IMAGES)

.PHONY: chart
chart: bin/images ## Write the package of the operator's Helm chart to dist/.
	@bin/images chart $(CHART_FLAGS)

.PHONY: push-chart
push-chart: bin/images ## Push that package, to charts/aimodel-operator beside IMAGE_TAG_BASE.
	@bin/images push-chart $(CHART_FLAGS)

.PHONY: release
release: ## Build all of VERSION=x.y.z into dist/release/, from the last commit. PUBLISH=1 pushes it.
	@VERSION=$(if $(filter file,$(origin VERSION)),,$(VERSION)) PUBLISH=$(PUBLISH) SIGNING_KEY="$(SIGNING_KEY)" REMOTE=$(REMOTE) hack/release.sh

# For scripts: what a variable is.
show-%:
	@echo '$($*)'

CHART_FLAGS = -base $(IMAGE_TAG_BASE) -version $(VERSION) -out dist -time $(SOURCE_DATE_EPOCH)

bin/images: FORCE
	@cd tools/images && CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "-s -w" -o ../../$@ .

.PHONY: image
image: ## Build the image of the operator ($IMG) for this machine, with CONTAINER_TOOL.
	$(CONTAINER_TOOL) build $(BUILD_ARGS) -t $(IMG) .

BUILD_ARGS = --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) --build-arg SOURCE=$(SOURCE_URL)

.PHONY: image-push
image-push: ## Build the image for all PLATFORMS with CONTAINER_TOOL and push it.
	$(CONTAINER_TOOL) buildx build --platform $(PLATFORMS) $(BUILD_ARGS) -t $(IMG) --push .

.PHONY: clean
clean: ## Delete bin/, dist/ and what tests left behind. Go's own caches stay.
	@rm -rf bin dist

##@ Install (on the cluster of KUBECONFIG)

.PHONY: install-crds
install-crds: ## Install the custom resource definitions.
	@$(KUBECTL) apply -k config/crd
	@$(KUBECTL) wait --for=condition=Established --timeout=60s -f config/crd/bases

.PHONY: uninstall-crds
uninstall-crds: ## Delete the custom resource definitions, and with them EVERY AIModel and InferenceService.
	@$(KUBECTL) delete --ignore-not-found -k config/crd

.PHONY: deploy
deploy: dist/install.yaml ## Install the definitions and the operator, with the image $IMG.
	@$(KUBECTL) apply -f dist/install.yaml
	@echo "Follow it with: $(notdir $(KUBECTL)) -n $(NAMESPACE) rollout status deployment/aimodel-operator-controller-manager"

.PHONY: undeploy
undeploy: ## Delete the operator. The definitions, models and what serves them stay.
	@$(KUBECTL) delete --ignore-not-found -k config/operator

.PHONY: installer
installer: dist/install.yaml ## Write everything that an installation needs to dist/install.yaml.

# An overlay sets the image, so that no file of the repository changes with it.
dist/install.yaml: bin/kustomize FORCE
	@rm -rf dist/overlay && mkdir -p dist/overlay
	@cd dist/overlay && ../../bin/kustomize create --resources ../../config/default && \
		../../bin/kustomize edit set image controller=$(IMG)
	@bin/kustomize build dist/overlay >$@
	@rm -rf dist/overlay
	@echo "  GEN   $@ ($(IMG))"

.PHONY: run
run: install-crds ## Run the operator on this machine, against the cluster of KUBECONFIG.
	go run ./cmd/manager --leader-elect=false --metrics-secure=false --metrics-bind-address=127.0.0.1:8080 --log-format=text $(ARGS)

##@ Develop

.PHONY: generate
generate: bin/controller-gen manifests ## Generate deep copies, definitions, RBAC and reference pages.
	@echo "  GEN   reasons"
	@go run ./hack/reasons -api api/v1
	@echo "  GEN   deep copies"
	@bin/controller-gen object paths=./api/... paths=./internal/monitoringv1/...
	@echo "  GEN   docs/api-reference.md"
	@go run ./hack/apidoc -api api/v1,api/v1alpha1 -crds config/crd/bases -out docs/api-reference.md
	@echo "  GEN   docs/it-does-not-start.md"
	@go run ./hack/reasondoc -out docs/it-does-not-start.md
	@echo "  GEN   docs/kubectl-plugin.md"
	@go run ./hack/plugindoc -page docs/kubectl-plugin.md
	@echo "  GEN   docs/metrics.md"
	@go run ./hack/metricsdoc -out docs/metrics.md
	@echo "  GEN   config/prometheus/prometheusrule.yaml"
	@{ printf '%s\n' '# Generated by "make generate" from aimodel-operator.rules.yaml. Do not edit.' \
		'apiVersion: monitoring.coreos.com/v1' 'kind: PrometheusRule' 'metadata:' '  name: aimodel-operator' 'spec:'; \
		sed -n '/^groups:/,$$ s/^/  /p' config/prometheus/aimodel-operator.rules.yaml | sed 's/ *$$//'; } \
		>config/prometheus/prometheusrule.yaml

.PHONY: manifests
manifests: bin/controller-gen ## Generate definitions and RBAC only.
	@echo "  GEN   definitions"
	@bin/controller-gen crd:maxDescLen=1024 paths=./api/... output:crd:artifacts:config=config/crd/bases
	@echo "  GEN   RBAC"
	@bin/controller-gen rbac:roleName=manager-role paths=./controllers/... output:rbac:artifacts:config=config/rbac

.PHONY: fmt
fmt: bin/golangci-lint ## Format Go files and sort their imports.
	@bin/golangci-lint fmt

.PHONY: vet
vet: ## Run go vet.
	@CGO_ENABLED=0 go vet ./...

.PHONY: lint
lint: bin/golangci-lint ## Run all linters (the first time builds them, some minutes).
	@hack/lint.sh

.PHONY: verify
verify: ## Fail if a generated file or a go.mod is out of date.
	@hack/verify.sh

bin/catalogd bin/controller-gen bin/crdify bin/golangci-lint bin/helm bin/krew bin/kustomize bin/model-registry bin/olm bin/olm-catalog bin/olmv1 bin/operator-controller bin/operator-sdk bin/opm bin/scorecard-test: FORCE
	@hack/build-tool.sh $(@F)

##@ Ship (with the Operator Lifecycle Manager)

# The version that VERSION replaces. The first has none.
PREVIOUS_VERSION ?=
# The images of the bundle and of its scorecard tests.
BUNDLE_IMG ?= $(IMAGE_TAG_BASE)-bundle:$(VERSION)
SCORECARD_IMG ?= $(IMAGE_TAG_BASE)-scorecard:$(VERSION)

.PHONY: bundle
bundle: bin/kustomize bin/operator-sdk manifests ## Generate bundle/ and bundle.Dockerfile for VERSION and IMG.
	@VERSION=$(VERSION) IMG=$(IMG) SCORECARD_IMG=$(SCORECARD_IMG) PREVIOUS_VERSION=$(PREVIOUS_VERSION) hack/bundle.sh

# Another registry to ask for these digests, such as a mirror.
IMAGE_MIRROR ?=

.PHONY: pin-images
pin-images: ## Ask registries for the digests of the runtimes' images that have none in config/manifests/image-digests.txt.
	@CGO_ENABLED=0 go run ./hack/bundle pin -mirror "$(IMAGE_MIRROR)"

.PHONY: catalog
catalog: bin/opm ## Write the catalog with the bundle to dist/catalog, for BUNDLE_IMG (or BUNDLE_IMG=inline).
	@hack/catalog.sh $(BUNDLE_IMG)

.PHONY: bundle-validate
bundle-validate: bin/kustomize bin/olmv1 bin/operator-sdk bin/opm bin/scorecard-test ## Check bundle/ with the tools that catalogs check it with.
	@hack/catalog.sh $(BUNDLE_IMG)
	@hack/test.sh bundle

.PHONY: crd-compat
crd-compat: bin/crdify ## Compare the definitions with those of the last release, or of the commit BASE: may objects that exist go on?
	@BASE=$(BASE) hack/crd-compat.sh

##@ Test (on a control plane of its own, or on the cluster of KUBECONFIG)

.PHONY: test
test: ## Run unit, golden and integration tests, and those against real model registries.
	@hack/test.sh unit modules integration registries

.PHONY: test-unit
test-unit: ## Run unit and golden tests only: no cluster needed.
	@hack/test.sh unit

.PHONY: test-packaging
test-packaging: bin/helm bin/kustomize bin/krew bin/operator-sdk bin/opm ## Run the tests of the Helm chart, the versions, the workflows, the plugin and the release only.
	@hack/test.sh packaging

.PHONY: test-integration
test-integration: ## Run the integration tests only.
	@hack/test.sh integration

.PHONY: registries
registries: ## Install the model registries that tests run against, as far as this machine allows.
	@hack/registries.sh

.PHONY: test-registries
test-registries: ## Test the backends of model registries against real ones (REQUIRE_REGISTRIES="oci kubeflow" fails without these).
	@hack/test.sh registries

.PHONY: test-e2e
test-e2e: build modelserver ## Run the end-to-end tests; pods really run where this machine allows it.
	@hack/test.sh e2e

.PHONY: test-olm
test-olm: build bin/scorecard bin/olm bin/olm-catalog bin/opm ## Install bundle/ with the Operator Lifecycle Manager (the first time builds that, 10 minutes).
	@hack/test.sh olm

.PHONY: test-olmv1
test-olmv1: build bin/catalogd bin/images bin/operator-controller bin/opm ## Install bundle/ with OLM v1, from images in a registry (the first time builds that, 5 minutes).
	@hack/test.sh olmv1

.PHONY: test-scorecard
test-scorecard: bin/kustomize bin/operator-sdk bin/scorecard-test ## Run the scorecard tests of bundle/ in pods, with the operator in one, where this machine allows it.
	@$(MAKE) images IMAGES="manager scorecard" PLATFORMS=linux/$$(go env GOARCH) IMAGES_OUT=dist/images-for-pods
	@hack/test.sh scorecard

.PHONY: test-scale
test-scale: build ## Measure 300 services: time, requests and memory.
	@rm -f bin/scale-report.txt
	@status=0; hack/test.sh scale || status=$$?; [ ! -f bin/scale-report.txt ] || cat bin/scale-report.txt; exit $$status

.PHONY: bench
bench: ## Run the Go benchmarks.
	@CGO_ENABLED=0 go test -run '^$$' -bench . -benchmem ./internal/... ./controllers/... | grep -Ev '^(PASS|ok|\?)'

.PHONY: golden
golden: ## Rewrite the golden files from what the charts render now. Read the diff before committing it.
	@CGO_ENABLED=0 go test ./internal/render -run Golden -update
