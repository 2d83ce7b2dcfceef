{{/* preStop, drain_s and a margin: SIGKILL in the middle of a drain would leave work to be done twice. */}}
{{- define "pelton.graceSeconds" -}}
{{- add .Values.shutdown.preStopSeconds (ceil .Values.settings.drain_s) .Values.shutdown.marginSeconds -}}
{{- end -}}

{{- define "pelton.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "pelton.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "pelton.resources" -}}
{{- $resources := deepCopy .Values.resources -}}
{{- if .Values.gpu.enabled -}}
{{- $_ := set $resources "limits" (merge (dict .Values.gpu.resource 1) $resources.limits) -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{/* The environment wins over pelton.yaml: what differs by pod, what the probes rely on, and secrets. */}}
{{- define "pelton.env" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: PELTON_REPLICA
  value: $(POD_NAMESPACE).$(POD_NAME)
{{- if .Values.staticMembership }}
- name: PELTON_STREAM__STATIC_ID
  value: $(POD_NAMESPACE).$(POD_NAME)
{{- end }}
- name: PELTON_SIDECAR__HOST
  value: 0.0.0.0
- name: PELTON_SIDECAR__PORT
  value: {{ .Values.sidecar.port | quote }}
{{- if .Values.gpu.enabled }}
- name: PELTON_DEVICE
  value: cuda
{{- end }}
{{- range $name, $_ := .Values.secrets.settings }}
- name: {{ $name }}_FILE
  value: /etc/pelton-secrets/{{ $name }}
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "pelton.mounts" -}}
- name: settings
  mountPath: /etc/pelton
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- if .Values.secrets.settings }}
- name: secret-settings
  mountPath: /etc/pelton-secrets
  readOnly: true
{{- end }}
{{- range $number, $files := .Values.secrets.files }}
- name: secret-{{ $number }}
  mountPath: {{ $files.mountPath }}
  readOnly: true
{{- end }}
{{- if ne .Values.package.kind "none" }}
- name: package
  mountPath: {{ .Values.package.mountPath }}
  readOnly: true
{{- if and (eq .Values.package.kind "claim") .Values.package.claim.subPath }}
  subPath: {{ .Values.package.claim.subPath }}
{{- end }}
{{- if and (eq .Values.package.kind "volume") (ne .Values.package.image.path "/") }}
  subPath: {{ trimPrefix "/" .Values.package.image.path }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "pelton.volumes" -}}
- name: settings
  configMap:
    name: {{ include "pelton.fullname" . }}
- name: tmp
  emptyDir:
    sizeLimit: 512Mi
{{- with .Values.secrets.settings }}
- name: secret-settings
  projected:
    defaultMode: 0440
    sources:
      {{- range $name, $secret := . }}
      - secret:
          name: {{ $secret.name }}
          items:
            - {key: {{ $secret.key | quote }}, path: {{ $name }}}
      {{- end }}
{{- end }}
{{- range $number, $files := .Values.secrets.files }}
- name: secret-{{ $number }}
  secret:
    secretName: {{ $files.name }}
    defaultMode: 0440
{{- end }}
{{- with .Values.package }}
{{- if eq .kind "claim" }}
- name: package
  persistentVolumeClaim:
    claimName: {{ .claim.name }}
    readOnly: true
{{- else if eq .kind "volume" }}
- name: package
  image:
    reference: {{ .image.reference }}
    pullPolicy: {{ .image.pullPolicy }}
{{- else if ne .kind "none" }}
- name: package
  emptyDir:
    sizeLimit: {{ .sizeLimit }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Fills the package's folder before the scorer starts. */}}
{{- define "pelton.packageContainer" -}}
- name: package
{{- with .Values.package }}
{{- if eq .kind "image" }}
  image: {{ .image.reference }}
  imagePullPolicy: {{ .image.pullPolicy }}
  command: [cp, -R, {{ printf "%s/." (trimSuffix "/" .image.path) | quote }}, {{ .mountPath | quote }}]
{{- else }}
  image: {{ .init.image }}
  {{- with .init.command }}
  command: {{ toJson . }}
  {{- end }}
  {{- with .init.args }}
  args: {{ toJson . }}
  {{- end }}
  {{- with .init.env }}
  env:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
  securityContext:
    {{- include "pelton.containerSecurity" . | nindent 4 }}
  resources:
    requests: {cpu: 100m, memory: 64Mi, ephemeral-storage: 64Mi}
    limits: {cpu: "1", memory: 512Mi, ephemeral-storage: {{ .Values.package.sizeLimit }}}
  volumeMounts:
    - name: package
      mountPath: {{ .Values.package.mountPath }}
    - name: tmp
      mountPath: /tmp
{{- end -}}
