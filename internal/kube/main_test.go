package kube

import (
	"context"
	"os"
	"testing"

	"labhub.io/webservice-controller/internal/labtest"
)

// shared is the server of this package's tests. Tests that change its CRD, or
// that restart it, don't run in parallel with others.
var shared *labtest.Cluster

func TestMain(m *testing.M) { os.Exit(labtest.Main(context.Background(), m, &shared)) }
