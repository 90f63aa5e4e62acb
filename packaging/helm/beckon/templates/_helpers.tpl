{{/* Names are at most 45 characters: the longest suffix and the ordinal of a pod must fit into a DNS label. */}}
{{- define "beckon.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 45 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 45 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "beckon.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "beckon.labels" -}}
{{ include "beckon.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "beckon.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{/* What no schema can say: values that need one another. Every manifest of a workload asks for it. */}}
{{- define "beckon.check" -}}
{{- if not .Values.url -}}
{{- fail "url is required: the public origin, such as https://push.example.org" -}}
{{- end -}}
{{- if and .Values.keyRing.existingSecret .Values.keyRing.json -}}
{{- fail "keyRing.existingSecret and keyRing.json: give one of them" -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled .Values.networkPolicy.enabled (not .Values.networkPolicy.opsFrom) -}}
{{- fail "networkPolicy.opsFrom is required with serviceMonitor.enabled: the pods of your Prometheus, which may ask the ops ports" -}}
{{- end -}}
{{- if eq .Values.mode "kafka" -}}
{{- if not .Values.kafka.servers -}}
{{- fail "kafka.servers is required for mode kafka: host:port[,host:port …]. Without a Kafka use mode standalone" -}}
{{- end -}}
{{- if not (or .Values.keyRing.existingSecret .Values.keyRing.json) -}}
{{- fail "a key ring is required for mode kafka: `beckon keys generate --key-ring keys.json`, then keyRing.existingSecret, or --set-file keyRing.json=keys.json" -}}
{{- end -}}
{{- if and .Values.kafka.auth.mechanism (not .Values.kafka.auth.secret) -}}
{{- fail "kafka.auth.secret is required with kafka.auth.mechanism" -}}
{{- end -}}
{{- if and (eq .Values.kafka.auth.mechanism "tls") (not .Values.kafka.tls.enabled) -}}
{{- fail "kafka.auth.mechanism tls needs kafka.tls.enabled: true" -}}
{{- end -}}
{{- if and .Values.edge.zone .Values.edge.zones -}}
{{- fail "edge.zone and edge.zones: give one of them" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The name of the Secret with the key ring; empty where standalone makes its own. */}}
{{- define "beckon.keyRingSecret" -}}
{{- if .Values.keyRing.json -}}
{{ include "beckon.fullname" . }}-key-ring
{{- else -}}
{{ .Values.keyRing.existingSecret }}
{{- end -}}
{{- end -}}

{{/* beckon.toml: what the values decide for all roles alike, and what config adds to it. JSON's scalars and lists are TOML's. */}}
{{- define "beckon.toml" -}}
{{- $settings := dict "endpoint.url" .Values.url "log_format" "json" -}}
{{- with .Values.trustedProxies -}}
{{- $_ := set $settings "endpoint.trusted_proxies" . -}}
{{- $_ := set $settings "edge.trusted_proxies" . -}}
{{- end -}}
{{- if eq .Values.mode "kafka" -}}
{{- $kafka := .Values.kafka -}}
{{- $_ := set $settings "kafka.servers" $kafka.servers -}}
{{- $_ := set $settings "kafka.prefix" $kafka.prefix -}}
{{- $_ := set $settings "partitions" $kafka.partitions -}}
{{- $_ := set $settings "replication_factor" $kafka.replicationFactor -}}
{{- $sasl := and $kafka.auth.mechanism (ne $kafka.auth.mechanism "tls") -}}
{{- if $sasl -}}
{{- $_ := set $settings "kafka.librdkafka.security.protocol" (ternary "sasl_ssl" "sasl_plaintext" $kafka.tls.enabled) -}}
{{- $_ := set $settings "kafka.librdkafka.sasl.mechanism" $kafka.auth.mechanism -}}
{{- $_ := set $settings "kafka.librdkafka.sasl.password.file" (printf "/etc/beckon/kafka-user/%s" $kafka.auth.passwordKey) -}}
{{- else if $kafka.tls.enabled -}}
{{- $_ := set $settings "kafka.librdkafka.security.protocol" "ssl" -}}
{{- end -}}
{{- if and $kafka.tls.enabled $kafka.tls.caSecret -}}
{{- $_ := set $settings "kafka.librdkafka.ssl.ca.location" (printf "/etc/beckon/kafka-ca/%s" $kafka.tls.caKey) -}}
{{- end -}}
{{- if eq $kafka.auth.mechanism "tls" -}}
{{- $_ := set $settings "kafka.librdkafka.ssl.certificate.location" (printf "/etc/beckon/kafka-user/%s" $kafka.auth.certificateKey) -}}
{{- $_ := set $settings "kafka.librdkafka.ssl.key.location" (printf "/etc/beckon/kafka-user/%s" $kafka.auth.privateKeyKey) -}}
{{- end -}}
{{- if and .Values.console.enabled .Values.retry.enabled -}}
{{- $_ := set $settings "console.retry_urls" (list (printf "http://%s-retry:%v" (include "beckon.fullname" .) .Values.retry.service.port)) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.console.enabled .Values.console.canary (not .Values.edge.tlsSecret) (not .Values.endpoint.tlsSecret) -}}
{{- $path := index .Values.config "edge.path" | default "/" -}}
{{- if eq .Values.mode "kafka" -}}
{{- $_ := set $settings "console.canary" (list (printf "ws://*:8080%s" $path) (printf "http://%s-endpoint:%v" (include "beckon.fullname" .) .Values.endpoint.service.port)) -}}
{{- else -}}
{{- $_ := set $settings "console.canary" (list (printf "ws://127.0.0.1:8080%s" $path) "http://127.0.0.1:8082") -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := .Values.config -}}
{{- $_ := set $settings $name $value -}}
{{- end -}}
# Made by the chart from its values.
{{- range $name, $value := $settings }}
{{- if hasPrefix "kafka.librdkafka." $name }}
kafka.librdkafka.{{ trimPrefix "kafka.librdkafka." $name | toJson }} = {{ kindIs "string" $value | ternary $value (toJson $value) | toJson }}
{{- else }}
{{ $name }} = {{ toJson $value }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The user of Kafka that a role logs in as: the name of its Secret. */}}
{{- define "beckon.kafkaSecret" -}}
{{- if and (ne .role "standalone") .root.Values.kafka.auth.mechanism -}}
{{- $own := (index .root.Values .role).kafkaSecret -}}
{{- default .root.Values.kafka.auth.secret $own -}}
{{- end -}}
{{- end -}}

{{/* metadata and spec of a pod. Given: root, role (also "topics"), values (of the role), zone. */}}
{{- define "beckon.pod" -}}
{{- $root := .root -}}
{{- $role := .role -}}
{{- $values := .values -}}
{{- $fullname := include "beckon.fullname" $root -}}
{{- $ring := include "beckon.keyRingSecret" $root -}}
{{- $kafkaSecret := include "beckon.kafkaSecret" . -}}
{{- $hook := eq $role "topics" -}}
{{- $edge := or (eq $role "edge") (eq $role "standalone") -}}
{{- $endpoint := or (eq $role "endpoint") (eq $role "standalone") -}}
{{- $retry := or (eq $role "retry") (eq $role "standalone") -}}
{{- $console := or (eq $role "console") (and (eq $role "standalone") $root.Values.console.enabled) -}}
{{- $token := and $console $root.Values.console.tokenSecret -}}
{{- $stop := $root.Values.stopTimeoutSeconds | int -}}
{{- $waits := or $edge $endpoint -}}
metadata:
  labels:
    {{- include "beckon.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $role }}
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ include "beckon.toml" $root | sha256sum }}
    {{- with $values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  # Variables of Docker's old links, such as BECKON_EDGE_PORT=tcp://…, look like settings.
  enableServiceLinks: false
  automountServiceAccountToken: false
  {{- with $root.Values.serviceAccountName }}
  serviceAccountName: {{ . }}
  {{- end }}
  {{- with $root.Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with $root.Values.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $hook }}
  restartPolicy: Never
  {{- else }}
  # Longer than stop_timeout, so that Beckon itself says what hangs.
  terminationGracePeriodSeconds: {{ add $stop 10 (ternary $root.Values.preStopSeconds 0 $waits) }}
  {{- end }}
  containers:
    - name: beckon
      image: {{ include "beckon.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      command: [beckon]
      {{- if $hook }}
      args: [topics, create{{ if $root.Values.topics.newLog }}, --new-log{{ end }}]
      {{- else }}
      args: [{{ $role }}]
      {{- end }}
      env:
        - {name: BECKON_CONFIG, value: /etc/beckon/config/beckon.toml}
        {{- if $ring }}
        - {name: BECKON_KEY_RING, value: {{ printf "/etc/beckon/keys/%s" $root.Values.keyRing.key | quote }}}
        # The mount is readable for the group of the pod (fsGroup).
        - {name: BECKON_KEY_RING_GROUP_READABLE, value: "true"}
        {{- end }}
        {{- if and $kafkaSecret (ne $root.Values.kafka.auth.mechanism "tls") }}
        - {name: BECKON_KAFKA_LIBRDKAFKA_SASL_USERNAME, value: {{ default $kafkaSecret $root.Values.kafka.auth.username | quote }}}
        {{- end }}
        - {name: BECKON_DATA, value: /var/lib/beckon}
        {{- if not $hook }}
        - {name: BECKON_OPS_HOST, value: 0.0.0.0}
        - {name: BECKON_OPS_PORT, value: "9090"}
        - {name: BECKON_STOP_TIMEOUT, value: {{ printf "%ds" $stop | quote }}}
        {{- end }}
        {{- if $endpoint }}
        - {name: BECKON_ENDPOINT_HOST, value: 0.0.0.0}
        - {name: BECKON_ENDPOINT_PORT, value: "8082"}
        {{- if $root.Values.endpoint.tlsSecret }}
        - {name: BECKON_ENDPOINT_TLS_CERTIFICATE, value: /etc/beckon/endpoint-tls/tls.crt}
        - {name: BECKON_ENDPOINT_TLS_KEY, value: /etc/beckon/endpoint-tls/tls.key}
        {{- end }}
        {{- end }}
        {{- if $edge }}
        - {name: BECKON_EDGE_HOST, value: 0.0.0.0}
        - {name: BECKON_EDGE_PORT, value: "8080"}
        {{- if $root.Values.edge.tlsSecret }}
        - {name: BECKON_EDGE_TLS_CERTIFICATE, value: /etc/beckon/edge-tls/tls.crt}
        - {name: BECKON_EDGE_TLS_KEY, value: /etc/beckon/edge-tls/tls.key}
        {{- end }}
        {{- end }}
        {{- if eq $role "edge" }}
        - {name: BECKON_EDGE_LINK_HOST, value: 0.0.0.0}
        - {name: BECKON_EDGE_LINK_PORT, value: "8081"}
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - name: POD_NAMESPACE
          valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
        # The headless service gives each pod a name of its own, which it keeps.
        - {name: BECKON_EDGE_LINK_ADDRESS, value: "$(POD_NAME).{{ $fullname }}-edges.$(POD_NAMESPACE).svc.{{ $root.Values.edge.clusterDomain }}:8081"}
        {{- with .zone }}
        - {name: BECKON_EDGE_ZONE, value: {{ . | quote }}}
        {{- end }}
        {{- end }}
        {{- if $retry }}
        - {name: BECKON_RETRY_HOST, value: 0.0.0.0}
        - {name: BECKON_RETRY_PORT, value: "8084"}
        {{- end }}
        {{- if $console }}
        - {name: BECKON_CONSOLE_PORT, value: "8085"}
        {{- if $token }}
        - {name: BECKON_CONSOLE_HOST, value: 0.0.0.0}
        - {name: BECKON_CONSOLE_TOKEN_FILE, value: {{ printf "/etc/beckon/console/%s" $root.Values.console.tokenKey | quote }}}
        {{- end }}
        {{- end }}
        {{- with $values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- if not $hook }}
      ports:
        {{- if $endpoint }}
        - {name: endpoint, containerPort: 8082}
        {{- end }}
        {{- if $edge }}
        - {name: edge, containerPort: 8080}
        {{- end }}
        {{- if eq $role "edge" }}
        - {name: link, containerPort: 8081}
        {{- end }}
        {{- if $retry }}
        - {name: retry, containerPort: 8084}
        {{- end }}
        {{- if $token }}
        - {name: console, containerPort: 8085}
        {{- end }}
        - {name: ops, containerPort: 9090}
      {{- with $root.Values.probes }}
      startupProbe:
        httpGet: {path: /live, port: ops}
        periodSeconds: 2
        timeoutSeconds: 3
        failureThreshold: {{ div (add .startupSeconds 1) 2 }}
      livenessProbe:
        httpGet: {path: /live, port: ops}
        periodSeconds: {{ .livenessPeriodSeconds }}
        timeoutSeconds: 3
        failureThreshold: {{ .livenessFailureThreshold }}
        # A process that hangs hands nothing over.
        terminationGracePeriodSeconds: 5
      readinessProbe:
        httpGet: {path: /ready, port: ops}
        periodSeconds: {{ .readinessPeriodSeconds }}
        timeoutSeconds: 3
        failureThreshold: {{ .readinessFailureThreshold }}
      {{- end }}
      {{- if and $waits $root.Values.preStopSeconds }}
      # Until no balancer sends new connections here.
      lifecycle:
        preStop:
          exec: {command: [sleep, {{ $root.Values.preStopSeconds | quote }}]}
      {{- end }}
      {{- end }}
      {{- with $values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - {name: config, mountPath: /etc/beckon/config, readOnly: true}
        - {name: data, mountPath: /var/lib/beckon}
        - {name: tmp, mountPath: /tmp}
        {{- if $ring }}
        - {name: keys, mountPath: /etc/beckon/keys, readOnly: true}
        {{- end }}
        {{- if $kafkaSecret }}
        - {name: kafka-user, mountPath: /etc/beckon/kafka-user, readOnly: true}
        {{- end }}
        {{- if and (eq $root.Values.mode "kafka") $root.Values.kafka.tls.enabled $root.Values.kafka.tls.caSecret }}
        - {name: kafka-ca, mountPath: /etc/beckon/kafka-ca, readOnly: true}
        {{- end }}
        {{- if and $endpoint $root.Values.endpoint.tlsSecret }}
        - {name: endpoint-tls, mountPath: /etc/beckon/endpoint-tls, readOnly: true}
        {{- end }}
        {{- if and $edge $root.Values.edge.tlsSecret }}
        - {name: edge-tls, mountPath: /etc/beckon/edge-tls, readOnly: true}
        {{- end }}
        {{- if $token }}
        - {name: console-token, mountPath: /etc/beckon/console, readOnly: true}
        {{- end }}
        {{- with $values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap: {name: {{ $fullname }}{{ if $hook }}-topics{{ end }}}
    - {name: tmp, emptyDir: {}}
    {{- if $hook }}
    - {name: data, emptyDir: {}}
    {{- else if eq $role "standalone" }}
    - name: data
      persistentVolumeClaim: {claimName: {{ default (printf "%s-data" $fullname) $values.persistence.existingClaim }}}
    {{- else if not (and (eq $role "edge") $values.persistence.enabled) }}
    - name: data
      {{- toYaml (default (dict "emptyDir" dict) $values.dataVolume) | nindent 6 }}
    {{- end }}
    {{- if $ring }}
    - name: keys
      secret: {secretName: {{ $ring }}{{ if and $hook $root.Values.keyRing.json }}-topics{{ end }}, defaultMode: 0440}
    {{- end }}
    {{- with $kafkaSecret }}
    - name: kafka-user
      secret: {secretName: {{ . }}, defaultMode: 0440}
    {{- end }}
    {{- if and (eq $root.Values.mode "kafka") $root.Values.kafka.tls.enabled $root.Values.kafka.tls.caSecret }}
    - name: kafka-ca
      secret: {secretName: {{ $root.Values.kafka.tls.caSecret }}, defaultMode: 0440}
    {{- end }}
    {{- if and $endpoint $root.Values.endpoint.tlsSecret }}
    - name: endpoint-tls
      secret: {secretName: {{ $root.Values.endpoint.tlsSecret }}, defaultMode: 0440}
    {{- end }}
    {{- if and $edge $root.Values.edge.tlsSecret }}
    - name: edge-tls
      secret: {secretName: {{ $root.Values.edge.tlsSecret }}, defaultMode: 0440}
    {{- end }}
    {{- if $token }}
    - name: console-token
      secret: {secretName: {{ $root.Values.console.tokenSecret }}, defaultMode: 0440}
    {{- end }}
    {{- with $values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if or .nodeZone $values.nodeSelector }}
  nodeSelector:
    {{- with .nodeZone }}
    topology.kubernetes.io/zone: {{ . | quote }}
    {{- end }}
    {{- with $values.nodeSelector }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if has $role (list "edge" "endpoint" "retry" "reliability") }}
  topologySpreadConstraints:
    {{- if $values.topologySpreadConstraints }}
    {{- toYaml $values.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "beckon.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ $role }}
    {{- end }}
    {{- end }}
  {{- end }}
{{- end -}}
