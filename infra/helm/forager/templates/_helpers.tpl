{{- define "forager.name" -}}
{{- $root := index . 0 -}}{{- $stage := index . 1 -}}
{{ $root.Release.Name | trunc 40 | trimSuffix "-" }}-{{ $stage }}
{{- end -}}

{{- define "forager.selector" -}}
{{- $root := index . 0 -}}{{- $stage := index . 1 -}}
app.kubernetes.io/name: forager
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ $stage }}
{{- end -}}

{{- define "forager.labels" -}}
{{ include "forager.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ (index . 0).Chart.Name }}-{{ (index . 0).Chart.Version }}
{{- end -}}

{{- define "forager.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* The port of an address host:port, or of a URL. */}}
{{- define "forager.port" -}}
{{- if contains "://" . -}}
{{- $url := urlParse . -}}
{{- if regexMatch ":[0-9]+$" $url.host }}{{ regexFind "[0-9]+$" $url.host }}{{ else if eq $url.scheme "https" }}443{{ else }}80{{ end -}}
{{- else -}}
{{ regexFind "[0-9]+$" . }}
{{- end -}}
{{- end -}}

{{- define "forager.secretEnv" -}}
- name: {{ index . 0 }}
  valueFrom: {secretKeyRef: {name: {{ index . 1 | quote }}, key: {{ index . 2 | quote }}}}
{{- end -}}

{{- define "forager.env" -}}
{{- with .Values.kafka.sasl }}{{ if .mechanism }}
{{ include "forager.secretEnv" (list "KAFKA_PASSWORD" .secret .passwordKey) }}
{{- end }}{{ end }}
{{- with .Values.s3 }}{{ if .secret }}
{{ include "forager.secretEnv" (list "S3_ACCESS_KEY" .secret .accessKey) }}
{{ include "forager.secretEnv" (list "S3_SECRET_KEY" .secret .secretKey) }}
{{- end }}{{ end }}
{{- with .Values.clickhouse }}{{ if .secret }}
{{ include "forager.secretEnv" (list "CLICKHOUSE_PASSWORD" .secret .passwordKey) }}
{{- end }}{{ end }}
{{- end -}}

{{- define "forager.podSpec" -}}
{{- $root := index . 0 -}}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: {{ $root.Values.terminationGracePeriodSeconds }}
securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532, fsGroupChangePolicy: OnRootMismatch, seccompProfile: {type: RuntimeDefault}}
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . | quote }}
{{- end }}
{{- end }}
{{- with $root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "forager.container" -}}
{{- $root := index . 0 -}}
image: {{ include "forager.image" $root | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
env:
  - {name: TMPDIR, value: /tmp}
{{- with include "forager.env" $root }}{{ . | nindent 2 }}{{ end }}
{{- end -}}

{{/* The pod of a stage. */}}
{{- define "forager.stagePod" -}}
{{- $root := index . 0 -}}{{- $stage := index . 1 -}}{{- $s := index . 2 -}}
metadata:
  labels: {{ include "forager.labels" (list $root $stage) | nindent 4 }}
  annotations:
    checksum/pipeline: {{ include "forager.pipeline" $root | sha256sum }}
{{- with $root.Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  {{- include "forager.podSpec" (list $root) | nindent 2 }}
  containers:
    - name: {{ $stage }}
      {{- include "forager.container" (list $root) | nindent 6 }}
      args: [{{ $stage | quote }}, "-config", "/etc/forager/pipeline.yaml"]
      ports: [{name: metrics, containerPort: 9100}]
      startupProbe: {httpGet: {path: /livez, port: metrics}, periodSeconds: 5, failureThreshold: 24}
      livenessProbe: {httpGet: {path: /livez, port: metrics}, periodSeconds: 20, timeoutSeconds: 5, failureThreshold: 3}
      readinessProbe: {httpGet: {path: /readyz, port: metrics}, periodSeconds: 5, timeoutSeconds: 5}
      resources:
        requests: {cpu: {{ $s.cpu | quote }}, memory: {{ int $s.memoryMiB }}Mi}
        limits: {memory: {{ div (mul 5 (int $s.memoryMiB)) 4 }}Mi}
      volumeMounts:
        - {name: pipeline, mountPath: /etc/forager, readOnly: true}
        - {name: data, mountPath: /var/lib/forager}
        - {name: tmp, mountPath: /tmp}
  volumes:
    - {name: pipeline, configMap: {name: {{ include "forager.name" (list $root "pipeline") }}}}
    - {name: tmp, emptyDir: {}}
{{- if not $s.storage }}
    - {name: data, emptyDir: {}}
{{- end }}
{{- end -}}

{{/* The pipeline file. */}}
{{- define "forager.pipeline" -}}
{{- $memory := 0 }}{{ range .Values.stages }}{{ $memory = add $memory (int .memoryMiB) }}{{ end -}}
data: /var/lib/forager
memory: {{ $memory }}MiB # with this, caches of a stage follow its memory_bytes
kafka:
  brokers: {{ toJson .Values.kafka.brokers }}
  group: {{ .Values.kafka.group | quote }}
  replication: {{ int .Values.kafka.replication }}
  partitions: {{ int .Values.partitions }}
  session_timeout: {{ .Values.kafka.sessionTimeout }}
  tls: {enabled: {{ .Values.kafka.tls.enabled }}}
{{- with .Values.kafka.sasl }}{{ if .mechanism }}
  sasl: {mechanism: {{ .mechanism }}, user: {{ .user | quote }}, password_env: KAFKA_PASSWORD}
{{- end }}{{ end }}
s3:
  endpoint: {{ .Values.s3.endpoint | quote }}
  region: {{ .Values.s3.region | quote }}
  bucket: {{ .Values.s3.bucket | quote }}
{{- if .Values.s3.secret }}
  access_key_env: S3_ACCESS_KEY
  secret_key_env: S3_SECRET_KEY
{{- end }}
clickhouse:
  url: {{ .Values.clickhouse.url | quote }}
  database: {{ .Values.clickhouse.database | quote }}
  user: {{ .Values.clickhouse.user | quote }}
{{- if .Values.clickhouse.secret }}
  password_env: CLICKHOUSE_PASSWORD
{{- end }}
disk: {pause_below: {{ int64 .Values.pauseBelow }}}
snapshots: {every: {{ .Values.snapshots.every }}, rate: {{ int64 .Values.snapshots.rate }}}
topics:
{{- range list "page.fetched" "page.parsed" "page.judged" }}
  {{ . }}: {retention: {{ $.Values.pageRetention }}}
{{- end }}
{{- range list "fetch.requested" "page.rejudged" "link.found" "leap.settled" "dead.letter" }}
  {{ . }}: {retention: {{ $.Values.retention }}}
{{- end }}
stages:
{{- range $stage, $s := .Values.stages }}
  {{- $set := dict "metrics" "0.0.0.0:9100" "memory_bytes" (mul (int $s.memoryMiB) 1048576) }}
  {{- if eq $stage "prioritize" }}{{ $_ := set $set "address" (printf "%s:9100" (include "forager.name" (list $ $stage))) }}{{ end }}
  {{ $stage }}: {{ mergeOverwrite $set $s.settings | toJson }}
{{- end }}
{{- end -}}
