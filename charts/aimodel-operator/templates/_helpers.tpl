{{/* What the names of all objects begin with. The longest thing that follows has 31 characters. */}}
{{- define "operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 30 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 30 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What the operator's pods are selected by. It may never change: selectors are immutable. */}}
{{- define "operator.selector" -}}
app.kubernetes.io/name: aimodel-operator
app.kubernetes.io/component: controller-manager
{{- end -}}

{{/* Labels of every object. Not managed-by: aimodel-operator, which marks what the operator itself creates. */}}
{{- define "operator.labels" -}}
app.kubernetes.io/name: aimodel-operator
app.kubernetes.io/part-of: aimodel-operator
app.kubernetes.io/instance: {{ .Release.Name | toJson }}
app.kubernetes.io/version: {{ .Chart.AppVersion | toJson }}
app.kubernetes.io/managed-by: {{ .Release.Service | toJson }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | toJson }}
{{- end -}}

{{- define "operator.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
