// Reads rendered objects from standard input and tells which fields the Prometheus Operator's own types do not know.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := check(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check() error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var head struct{ Kind string }
		if err := yaml.Unmarshal(document, &head); err != nil {
			return err
		}
		types := map[string]any{"PodMonitor": &monitoring.PodMonitor{}, "PrometheusRule": &monitoring.PrometheusRule{}}
		if object, ours := types[head.Kind]; ours {
			if err := yaml.UnmarshalStrict(document, object); err != nil {
				fmt.Printf("%s: %v\n", head.Kind, err)
			}
		}
	}
	return nil
}
