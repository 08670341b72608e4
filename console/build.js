/**
 * Installs and builds the console if it is missing, or older than its sources: dist/console. Fetches the script of the API
 * reference if it is missing: dist/api-reference.
 *
 *     node console/build.js              fails if it cannot
 *     node console/build.js --if-possible  says what is missing: the service starts also without the registry
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { fetchApiReference } from './api-reference.js';

const here = import.meta.dirname;
const root = dirname(here);
const OUT = join(root, 'dist/console');
const STATES = join(OUT, 'states.json');
const INSTALLED = join(here, 'node_modules/.package-lock.json');

/** What a browser loads before it shows the first page. */
const FIRST_LOAD_BYTES_MAX = 300_000;

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

const sources = () => [
  ...[join(here, 'src'), join(root, 'client/src')].flatMap(filesBelow),
  ...['index.html', 'icon.svg', 'vite.config.ts', 'package-lock.json', 'build.js'].map((name) =>
    join(here, name),
  ),
];

const stateOf = (path) => {
  const { size, mtimeMs } = statSync(path);
  return `${size} ${mtimeMs}`;
};

const statesNow = () =>
  Object.fromEntries(sources().map((path) => [path.slice(root.length + 1), stateOf(path)]));

const isUpToDate = () => {
  if (!existsSync(STATES)) return false;
  const [now, before] = [statesNow(), readJson(STATES)];
  const names = Object.keys(now);
  return names.length === Object.keys(before).length && names.every((name) => now[name] === before[name]);
};

const isInstalled = () => {
  if (!existsSync(INSTALLED)) return false;
  const { packages } = readJson(INSTALLED);
  const wanted = Object.entries(readJson(join(here, 'package.json')).dependencies);
  return wanted.every(([name, version]) => packages[`node_modules/${name}`]?.version === version);
};

const run = (command, ...parameters) => {
  const { status, error } = spawnSync(command, parameters, {
    cwd: here,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error(`${command} ${parameters.join(' ')} failed`, { cause: error });
};

const install = () => {
  if (isInstalled()) return;
  process.stderr.write('Installing what the console is built with (once, about a quarter of a minute) …\n');
  // Without the registry the service must not wait for minutes.
  run(
    'npm',
    'ci',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--fetch-retries=1',
    '--fetch-timeout=20000',
  );
};

/** The entry, what it imports at once, and their styles. */
const firstLoadOf = (manifest) => {
  const files = new Set();
  const add = (key) => {
    const { file, css = [], imports = [] } = manifest[key];
    if (files.has(file)) return;
    for (const one of [file, ...css]) files.add(one);
    imports.forEach(add);
  };
  Object.keys(manifest)
    .filter((key) => manifest[key].isEntry)
    .forEach(add);
  return [...files];
};

const build = () => {
  const states = statesNow();
  const made = `${OUT}.${process.pid}`;
  run(
    process.execPath,
    join(here, 'node_modules/vite/bin/vite.js'),
    'build',
    '--outDir',
    made,
    '--emptyOutDir',
    '--logLevel',
    'warn',
  );
  const files = firstLoadOf(readJson(join(made, '.vite/manifest.json')));
  const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(join(made, file))).length, 0);
  if (bytes > FIRST_LOAD_BYTES_MAX) {
    rmSync(made, { recursive: true });
    throw new Error(
      `the first load is ${bytes} bytes (gzip), more than ${FIRST_LOAD_BYTES_MAX}: load screens later`,
    );
  }
  writeFileSync(join(made, 'states.json'), JSON.stringify(states));
  writeFileSync(join(made, 'first-load.json'), JSON.stringify({ bytes, files }));
  rmSync(OUT, { recursive: true, force: true });
  renameSync(made, OUT);
  process.stderr.write(`The console is built. First load: ${Math.ceil(bytes / 1_000)} kB (gzip).\n`);
};

/** @throws Error if it cannot be built */
export const buildConsole = () => {
  if (!isUpToDate()) {
    install();
    build();
  }
  fetchApiReference();
};

/** @returns false after it has said what is missing */
export const buildConsoleIfPossible = () => {
  try {
    buildConsole();
    return true;
  } catch (error) {
    process.stderr.write(
      `The console could not be built (${error.message}). The service starts without it; build it with: node console/build.js\n`,
    );
    return false;
  }
};

if (process.argv[1] === import.meta.filename) {
  if (process.argv.includes('--types')) install();
  else if (process.argv.includes('--if-possible')) buildConsoleIfPossible();
  else buildConsole();
}
