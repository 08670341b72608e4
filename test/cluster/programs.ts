import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchSource } from '../containers/debian-programs.ts';
import { run } from '../containers/docker.ts';

/** The last version whose servers are in a release of Debian. Its source contains every package that it needs. */
const VERSION = '1.20.2';

/** As its Makefiles: the schema of the API is generated from the types, and the version is set by the linker. */
const BUILD = `programs=$1 version=$2
generator=$GOPATH/bin/openapi-gen
go build -o "$generator" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
inputs=$(grep -RlF --include='*.go' --exclude='*_test.go' '+k8s:openapi-gen=' vendor/k8s.io pkg cmd plugin |
  grep -v -e /code-generator/ -e /sample-apiserver/ -e /kube-openapi/ -e /testdata/ |
  xargs -n 1 dirname | sort -u | sed 's|^|k8s.io/kubernetes/|' | paste -sd ,)
"$generator" --logtostderr --input-dirs "$inputs" --output-base "$GOPATH/src" \\
  --output-package k8s.io/kubernetes/pkg/generated/openapi --output-file-base zz_generated.openapi \\
  --go-header-file vendor/k8s.io/code-generator/hack/boilerplate.go.txt --report-filename "$GOPATH/violations"
variable=k8s.io/kubernetes/vendor/k8s.io/component-base/version
go build -p 2 -o "$programs/" \\
  -ldflags "-X $variable.gitVersion=v$version -X $variable.gitMajor=1 -X $variable.gitMinor=20" \\
  ./cmd/kube-apiserver ./cmd/kube-controller-manager ./cmd/kube-scheduler ./cmd/kubelet ./cmd/kube-proxy
`;

/** Builds the programs of Kubernetes, and keeps them in the folder for later runs. @returns their folder */
export const buildPrograms = async (folder: string): Promise<string> => {
  const programs = join(folder, `kubernetes-${VERSION}`);
  if (existsSync(programs)) return programs;
  const [unfinished, go] = [`${programs}.unfinished`, join(folder, 'go')];
  const source = join(go, 'src/k8s.io/kubernetes');
  for (const path of [unfinished, go]) await rm(path, { recursive: true, force: true });
  for (const path of [unfinished, join(source, '..')]) await mkdir(path, { recursive: true });
  await run('dpkg-source', ['--extract', await fetchSource(folder, 'kubernetes'), source]);
  const words = ['-n', '10', 'env', '-C', source, 'sh', '-euc', BUILD, 'build', unfinished, VERSION];
  // Nothing is fetched: what it needs is in `vendor`.
  const environment = { GO111MODULE: 'off', GOPATH: go, GOCACHE: join(go, 'cache'), GOFLAGS: '' };
  await run('nice', words, environment);
  await rm(go, { recursive: true, force: true });
  await rename(unfinished, programs);
  return programs;
};
