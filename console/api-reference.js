/**
 * Fetches the script of the page `/docs`: one file of a package whose other files and dependencies (299 packages) are not
 * needed. npm fetches the package, and its content must have the hash below.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const PACKAGE = '@scalar/api-reference';
const VERSION = '1.72.1';
const INTEGRITY =
  'sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow==';
const FILE = 'package/dist/browser/standalone.js';

/** The version is in the name: browsers keep the file. */
const OUT = join(dirname(import.meta.dirname), `dist/api-reference/scalar-${VERSION}.js.gz`);

const run = (cwd, command, ...parameters) => {
  const { status, stdout, error } = spawnSync(command, parameters, {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`${command} ${parameters.join(' ')} failed`, { cause: error });
  return stdout;
};

const fetchScript = (folder) => {
  // Without the registry the service must not wait for minutes.
  const npm = ['pack', `${PACKAGE}@${VERSION}`, '--silent', '--fetch-retries=1', '--fetch-timeout=20000'];
  const name = String(run(folder, 'npm', ...npm)).trim();
  const hash = createHash('sha512')
    .update(readFileSync(join(folder, name)))
    .digest('base64');
  if (`sha512-${hash}` !== INTEGRITY) throw new Error(`${PACKAGE} ${VERSION} has another content`);
  return run(folder, 'tar', '-xzOf', name, FILE);
};

/** @throws Error if the package cannot be fetched */
export const fetchApiReference = () => {
  if (existsSync(OUT)) return;
  const folder = mkdtempSync(join(tmpdir(), 'api-reference-'));
  try {
    const script = gzipSync(fetchScript(folder), { level: 9 });
    mkdirSync(dirname(OUT), { recursive: true });
    writeFileSync(`${OUT}.${process.pid}`, script);
    renameSync(`${OUT}.${process.pid}`, OUT);
    for (const name of readdirSync(dirname(OUT)))
      if (name !== basename(OUT)) rmSync(join(dirname(OUT), name));
  } finally {
    rmSync(folder, { recursive: true });
  }
};
