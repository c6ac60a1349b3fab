package e2e

import (
	"context"
	"os"
	"testing"

	"labhub.io/webservice-controller/internal/labtest"
)

// shared is the API server of all tests but those that stop one, or need one
// that has never seen a WebService.
var shared *labtest.Cluster

func TestMain(m *testing.M) { os.Exit(labtest.Main(context.Background(), m, &shared)) }
