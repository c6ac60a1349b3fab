// Package labtest gives tests a real API server: bin/labcluster, run as a process of its own with its audit log on,
// in a directory that goes away with it. Nothing is simulated, and nothing is skipped: a missing binary is a failure.
//
// A package whose tests share one server starts it in TestMain:
//
//	var cluster *labtest.Cluster
//
//	func TestMain(m *testing.M) { os.Exit(labtest.Main(context.Background(), m, &cluster)) }
//
// and keeps them apart by namespaces. A test that stops or kills the server takes one of its own, with Start.
package labtest
