{{/* Every value is printed with toJson: JSON is YAML in which no string can be taken for anything else. */}}

{{- define "model-server.name" -}}
{{ .Values.nameOverride | default .Release.Name }}
{{- end -}}

{{/* The labels of the selector. They can never change, so nothing else may be among them. */}}
{{- define "model-server.selectorLabels" -}}
app.kubernetes.io/name: model-server
app.kubernetes.io/instance: {{ include "model-server.name" . | toJson }}
{{- end -}}

{{/* The labels of every object. None of them may change when only the chart does. */}}
{{- define "model-server.labels" -}}
{{ include "model-server.selectorLabels" . }}
app.kubernetes.io/component: server
app.kubernetes.io/part-of: aimodel-operator
app.kubernetes.io/managed-by: {{ .Values.managedBy | default .Release.Service | toJson }}
{{- with .Values.owner.aimodel }}
ai.example.com/aimodel: {{ toJson . }}
{{- end }}
{{- with .Values.owner.inferenceService }}
ai.example.com/inferenceservice: {{ toJson . }}
{{- end }}
{{- end -}}

{{- define "model-server.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default (include "model-server.name" .) }}
{{- end -}}

{{/* How the health of the server is asked for. */}}
{{- define "model-server.probe" -}}
{{- if .Values.healthPath -}}
httpGet: {path: {{ toJson .Values.healthPath }}, port: http}
{{- else -}}
tcpSocket: {port: http}
{{- end -}}
{{- end -}}

{{/* The path of the weights in the container, when they are on a volume. */}}
{{- define "model-server.modelPath" -}}
{{- with .Values.model.claim -}}
{{- if .name -}}
/mnt/models{{ with trimAll "/" .path }}/{{ . }}{{ end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The environment of the server: first what the chart sets, so that the user's variables can refer to it, then the
user's. Kubernetes would expand $(NAME) in the former; doubling every dollar sign keeps them as they are.
*/}}
{{- define "model-server.env" -}}
{{- $given := dict -}}
{{- range .Values.env }}{{ $_ := set $given .name true }}{{ end -}}
{{- $model := .Values.model -}}
{{- $parameters := $model.parameters -}}
{{- if not (kindIs "string" $parameters) }}{{ $parameters = toJson $parameters }}{{ end -}}
{{- range list
  (list "MODEL_NAME" $model.name)
  (list "MODEL_VERSION" $model.version)
  (list "MODEL_PROVIDER" $model.provider)
  (list "MODEL_TYPE" $model.type)
  (list "MODEL_PARAMETERS" $parameters)
  (list "MODEL_SOURCE_URI" $model.source.uri)
  (list "MODEL_SOURCE_REVISION" $model.source.revision)
  (list "MODEL_PATH" (include "model-server.modelPath" .))
  (list "MODEL_FORMAT" $model.format.name)
  (list "MODEL_FORMAT_VERSION" $model.format.version)
  (list "HOME" .Values.home.path)
  (list "PORT" (.Values.port | toString)) }}
{{- if and (index . 1) (not (hasKey $given (index . 0))) }}
- {name: {{ index . 0 }}, value: {{ index . 1 | replace "$" "$$" | toJson }}}
{{- end }}
{{- end }}
{{- with .Values.credentials }}
{{- if and .secretName .tokenKey (not (hasKey $given "HF_TOKEN")) }}
- {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: {{ toJson .secretName }}, key: {{ toJson .tokenKey }}}}}
{{- end }}
{{- end }}
{{- range .Values.env }}
- {{ toJson . }}
{{- end }}
{{- end -}}

{{/* The resources of the server, with the accelerators as a request and a limit: Kubernetes wants both to be equal. */}}
{{- define "model-server.resources" -}}
{{- $resources := .Values.resources -}}
{{- with .Values.accelerator -}}
{{- if .count -}}
{{- $own := dict .resourceName (toString .count) -}}
{{- $limits := merge (dict) $own ($resources.limits | default dict) -}}
{{- $requests := merge (dict) $own ($resources.requests | default dict) -}}
{{- $resources = merge (dict "limits" $limits "requests" $requests) $resources -}}
{{- end -}}
{{- end -}}
{{- toJson $resources -}}
{{- end -}}
