{{/* What the operator may do in a namespace with fleets. Every verb has a caller in specfleet_operator; nothing here
     reads or writes roles, so the operator cannot give anybody a right it has not. */}}
{{- define "specfleet.fleetRules" -}}
- apiGroups: [specfleet.dev]
  resources: [speculatorfleets]
  verbs: [get, list, watch]
- apiGroups: [specfleet.dev]
  resources: [speculatorfleets/status, drafterpromotions/status]
  verbs: [patch]
# Children: found by their label, written by server-side apply (patch, and create for what is new).
- apiGroups: [specfleet.dev]
  resources: [drafterpromotions]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [apps]
  resources: [statefulsets, controllerrevisions]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [""]
  resources: [services, serviceaccounts, configmaps, secrets]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [monitoring.coreos.com]
  resources: [podmonitors]
  verbs: [create, delete, get, list, patch, watch]
# Pods are the StatefulSets'; the operator annotates them and deletes those it replaces.
- apiGroups: [""]
  resources: [pods]
  verbs: [delete, list, patch, watch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
# The mark of an operator of some namespaces, by which the one of all namespaces leaves these alone.
{{- if .Values.watchNamespaces }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [specfleet-operator-namespace]
  verbs: [get, update]
{{- else }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [specfleet-operator-namespace]
  verbs: [list, watch]
{{- end }}
{{- end -}}
