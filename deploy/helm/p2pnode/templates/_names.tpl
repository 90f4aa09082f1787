{{- define "p2pnode.labels" -}}
app.kubernetes.io/name: p2pnode
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The domain below which each node has its name. */}}
{{- define "p2pnode.domain" -}}
{{ .Release.Name }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{- /* What no container of the chart may do. */}}
{{- define "p2pnode.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "p2pnode.user" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
# Once, for a new volume: later it would open the node's own files to its group.
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}
