{{- define "pelton.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 52 characters: a StatefulSet's pods and their revisions add to it. */}}
{{- define "pelton.fullname" -}}
{{- $name := include "pelton.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "pelton.selector" -}}
app.kubernetes.io/name: {{ include "pelton.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: scorer
{{- end -}}

{{- define "pelton.labels" -}}
{{ include "pelton.selector" . }}
{{ include "pelton.chartLabels" . }}
{{- end -}}

{{- define "pelton.chartLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "pelton.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "pelton.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "pelton.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default (ternary "cuda" "cpu" .Values.gpu.enabled) .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Bootstrap servers as one text; the settings take a list as well. */}}
{{- define "pelton.servers" -}}
{{- $servers := index .Values.settings.kafka "bootstrap.servers" -}}
{{- if kindIs "slice" $servers -}}{{- join "," $servers -}}{{- else -}}{{- $servers -}}{{- end -}}
{{- end -}}

{{/* What the pods are told; where they tell a scaler how many they should be, its bounds too. */}}
{{- define "pelton.settings" -}}
{{- $scale := .Values.autoscaling -}}
{{- $bounds := dict "min" $scale.minReplicas "max" $scale.maxReplicas "drain_s" $scale.drainSeconds -}}
{{- $told := ternary (dict "scale" $bounds) dict (eq $scale.kind "keda-scale") -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.settings) $told) -}}
{{- end -}}
