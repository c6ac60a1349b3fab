package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"labhub.io/webservice-controller/internal/labtest"
)

// productionTitle is the heading below which the README says how to run in a cluster.
const productionTitle = "## Run it in a cluster"

// needsKubelet are the commands of kubectl that speak to a running pod.
func needsKubelet() []string { return []string{"rollout", "logs", "exec", "port-forward"} }

// Who types what the README says has the controller in the cluster, confined to what
// the README says that it may do, and takes it out again without losing an object.
func TestTheReadmesWayIntoAClusterAndOut(t *testing.T) {
	t.Parallel()
	blocks := productionBlocks(t)
	if len(blocks) != 4 {
		t.Fatalf("%d blocks of commands, want those to install, look, upgrade and uninstall", len(blocks))
	}
	l := newLabOn(t, labtest.Start(t))
	l.cluster.Kubectl(t, "delete", "--filename=../../manifests/rbac.yaml")
	types := l.newcomer()
	types(blocks[0])
	i := l.installedByHand()
	i.must(os.MkdirAll(i.source, 0o755))
	d := i.boot()
	for _, duty := range i.duties() {
		duty.when()
		labtest.Eventually(t, convergeLimit, duty.then)
	}
	i.put("cleaned", "nginx:2", "finalizers: [webservice.labhub.io/cleanup]")
	labtest.Eventually(t, convergeLimit, func() error { return i.done("cleaned", "nginx:2") })
	if said := types(blocks[1]); !strings.Contains(said, "webservice-source-default") {
		t.Errorf("who is active: %s", said)
	}
	types(blocks[2])
	d.stop()
	before := i.states()
	if said := types(blocks[3]); !strings.Contains(said, i.namespace+"/cleaned\n") || strings.Contains(said, i.namespace+"/web\n") {
		t.Errorf("objects with finalizers: %s", said)
	}
	i.equal(before, i.states())
	if left := l.cluster.Kubectl(t, "get", "all,sa,roles,rolebindings,clusterroles,clusterrolebindings,networkpolicies,namespaces",
		"-A", "-o=name", "--selector=app.kubernetes.io/name="+account); left != "" {
		t.Errorf("left behind: %s", left)
	}
	// As the text says.
	i.edit(webservices(), "cleaned", `{"metadata": {"finalizers": null}}`)
}

// productionBlocks are the blocks of commands of the README's section.
func productionBlocks(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../" + frontPage)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n"+productionTitle+"\n")
	if !found {
		t.Fatalf("%s has no %q", frontPage, productionTitle)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var blocks []string
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(section, -1) {
		blocks = append(blocks, block[1])
	}
	return blocks
}

// newcomer types into a directory that looks like the root of the repository. Of what
// needs a kubelet, that the cluster has what it is about is all that is looked at.
func (l *lab) newcomer() func(block string) (said string) {
	l.Helper()
	root := l.TempDir()
	bin, err := filepath.Abs("../../bin")
	l.must(err)
	l.must(os.Symlink(bin, filepath.Join(root, "bin")))
	return func(block string) string {
		l.Helper()
		block = regexp.MustCompile(`(?m)^kubectl (\S+) .*$`).ReplaceAllStringFunc(block, l.withoutKubelet)
		cmd := exec.CommandContext(l.Context(), "bash", "-euc", "kubectl() { bin/labcluster kubectl \"$@\"; }\n"+block)
		cmd.Dir = root
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + root, "KUBECONFIG=" + l.cluster.Kubeconfig,
			"IMAGE=example/controller", "REPOSITORY=https://git.example.org/lab.git",
		}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		said, err := cmd.Output()
		if err != nil || strings.Contains(stderr.String(), "Warning") {
			l.Fatalf("%v\n%s\n%s%s", err, block, said, &stderr)
		}
		return string(said)
	}
}

// withoutKubelet asks for what a command speaks to, in its place.
func (l *lab) withoutKubelet(line string) string {
	line, _, _ = strings.Cut(line, " #")
	if verb := strings.Fields(line)[1]; !slices.Contains(needsKubelet(), verb) {
		return line
	}
	const workload, place = "deployment/" + account, " -n " + account
	if plain := strings.Replace(line, "deployment "+account, workload, 1); !strings.Contains(plain, workload) || !strings.Contains(plain, place) {
		l.Errorf("%s: isn't about the Deployment", line)
	}
	container := ""
	if found := regexp.MustCompile(` -c (\S+)`).FindStringSubmatch(line); found != nil {
		container = fmt.Sprintf(" -o jsonpath='{.spec.template.spec.containers[?(@.name==%q)].name}' | grep -qx %s", found[1], found[1])
	}
	return "kubectl get " + workload + place + container
}

// installedByHand is what was typed to be applied.
func (l *lab) installedByHand() *installation {
	l.Helper()
	l.name = "default"
	i := l.printedIn(account)
	i.kubeconfig = l.cluster.ServiceAccount(l, account, account)
	return i
}
