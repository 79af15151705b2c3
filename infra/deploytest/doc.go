// Package deploytest checks the files of deployments: the image, infra/compose.yaml, the Helm chart, alerts and
// dashboards. It is a module of its own, because Helm, compose-go, kubeconform and Prometheus are needed for nothing else.
package deploytest
