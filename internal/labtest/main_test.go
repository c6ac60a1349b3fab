package labtest

import (
	"context"
	"os"
	"testing"
)

var shared *Cluster

func TestMain(m *testing.M) { os.Exit(Main(context.Background(), m, &shared)) }
