package e2e

import (
	"context"
	"flag"
	"os"
	"testing"

	"labhub.io/webservice-controller/internal/labtest"
)

// shared is the API server of all tests but those that stop one, or need one
// that has never seen a WebService.
var shared *labtest.Cluster

func TestMain(m *testing.M) {
	// Tests wait most of the time, so more of them than there are processors run at
	// once. The flag -parallel is stronger.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(labtest.Main(context.Background(), m, &shared))
}
