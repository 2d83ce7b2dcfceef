{{/* Contradictions between values, each refused with what to change. */}}
{{- define "pelton.refuse" -}}
{{- $settings := .Values.settings -}}
{{- if $settings.replica -}}
{{- fail "settings.replica: every pod would have the same one; the chart gives each its own from its name" -}}
{{- end -}}
{{- if or ($settings.stream).static_id (get $settings "stream.static_id") -}}
{{- fail "settings.stream.static_id: every pod would have the same one; set staticMembership: true instead" -}}
{{- end -}}
{{- range .Values.env -}}
{{- if has .name (list "PELTON_REPLICA" "PELTON_STREAM__STATIC_ID" "PELTON_SIDECAR__HOST" "PELTON_SIDECAR__PORT" "PELTON_DRAIN_S") -}}
{{- fail (printf "env: %s comes from the chart, by the pod's name and its other values" .name) -}}
{{- end -}}
{{- end -}}
{{- $names := concat (keys $settings) (keys (default dict $settings.kafka)) (ternary (list "admin.token") list (hasKey (default dict $settings.admin) "token")) -}}
{{- range $name := $names -}}
{{- if regexMatch "pas+w|passphrase|secret|jaas|key\\.pem$|^admin\\.token$" $name -}}
{{- fail (printf "settings: %s would lie open in a ConfigMap; set secrets.settings instead" $name) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.staticMembership (not $settings.stream) -}}
{{- fail "staticMembership: is of the stream, and there is none" -}}
{{- end -}}
{{- if and .Values.gpu.enabled (ne (int (default 1 $settings.workers)) 1) -}}
{{- fail "settings.workers: a pod has one GPU and so one worker; raise replicas instead" -}}
{{- end -}}
{{- if and (hasKey $settings "sidecar") $settings.sidecar -}}
{{- fail "settings.sidecar: the probes need to know it; set sidecar.port of the chart instead" -}}
{{- end -}}
{{- $package := .Values.package -}}
{{- if and (ne $package.kind "none") (not (hasPrefix (printf "%s/" (trimSuffix "/" $package.mountPath)) $settings.model)) -}}
{{- fail (printf "settings.model: must be a path below package.mountPath (%s), not %s" $package.mountPath $settings.model) -}}
{{- end -}}
{{- if and (has $package.kind (list "image" "volume")) (not $package.image.reference) -}}
{{- fail (printf "package.image.reference: needed for package.kind: %s" $package.kind) -}}
{{- end -}}
{{- if and (eq $package.kind "claim") (not $package.claim.name) -}}
{{- fail "package.claim.name: needed for package.kind: claim" -}}
{{- end -}}
{{- if and (eq $package.kind "init") (not $package.init.image) -}}
{{- fail "package.init.image: needed for package.kind: init" -}}
{{- end -}}
{{- if and (eq $package.kind "volume") (semverCompare "<1.33.0-0" .Capabilities.KubeVersion.Version) -}}
{{- fail "package.kind: volume needs Kubernetes 1.33; use kind: image" -}}
{{- end -}}
{{- $scale := .Values.autoscaling -}}
{{- if and $scale.keda.scaleToZero (eq $scale.kind "keda-scale") -}}
{{- fail "autoscaling.keda.scaleToZero: with no pod there is no /scale to ask; use kind: keda-kafka" -}}
{{- end -}}
{{- range $name := list "min" "max" "drain_s" -}}
{{- if hasKey (default dict $settings.scale) $name -}}
{{- fail (printf "settings.scale.%s: comes from autoscaling.minReplicas, .maxReplicas and .drainSeconds" $name) -}}
{{- end -}}
{{- end -}}
{{- if gt (int $scale.minReplicas) (int $scale.maxReplicas) -}}
{{- fail "autoscaling.minReplicas: is more than autoscaling.maxReplicas" -}}
{{- end -}}
{{- end -}}
