{{/* The chart's name, for the label app.kubernetes.io/name. */}}
{{- define "specfleet.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of the release's objects. 40 characters leave room for what is appended. */}}
{{- define "specfleet.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "specfleet.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "specfleet.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The name of objects without a namespace: two releases in two namespaces never share one. */}}
{{- define "specfleet.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "specfleet.fullname" .) -}}
{{- end -}}

{{- define "specfleet.serviceAccountName" -}}
{{- default (include "specfleet.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "specfleet.selectorLabels" -}}
app.kubernetes.io/name: {{ include "specfleet.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{/* What all objects have in common; a component is added where there is one. */}}
{{- define "specfleet.commonLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: specfleet
{{- end -}}

{{- define "specfleet.labels" -}}
{{ include "specfleet.selectorLabels" . }}
{{ include "specfleet.commonLabels" . }}
{{- end -}}

{{/* The reference of an image: (dict "root" $ "image" .Values.images.x). */}}
{{- define "specfleet.image" -}}
{{- $images := .root.Values.images -}}
{{- $name := .image.repository -}}
{{- if $images.registry -}}
{{- $name = printf "%s/%s" $images.registry .image.repository -}}
{{- end -}}
{{- $reference := printf "%s:%s" $name (default .root.Chart.AppVersion .image.tag) -}}
{{- if .image.digest -}}
{{- $reference = printf "%s@%s" $reference .image.digest -}}
{{- end -}}
{{- $reference -}}
{{- end -}}

{{- define "specfleet.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
readOnlyRootFilesystem: true
{{- end -}}

{{- define "specfleet.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}
