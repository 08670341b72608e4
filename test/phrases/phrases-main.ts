import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { findPhrases } from './phrases.ts';

/**
 *     phrases-main            the files that `clean.txt` lists: part of `npm run check`
 *     phrases-main PATH...    the files whose path begins with one of these, listed or not
 *
 * Prints every banned phrase with its file, its line and what to write instead, and exits 1 when there is one.
 */

/** Path prefixes of files without banned phrases, one a line. The file goes away once it would list everything. */
const CLEAN = 'test/phrases/clean.txt';

/** Generated, or quoting banned phrases. */
const SKIPPED = /^(?:docs\/reference\/events\/|test\/(?:phrases\/phrases|unit\/phrases\.unit\.test)\.ts$)/;

const clean = () => (existsSync(CLEAN) ? readFileSync(CLEAN, 'utf8').split('\n').filter(Boolean) : ['']);

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
});
const files = tracked
  .split('\n')
  .filter((path) => /\.(?:c?js|ts|md|ya?ml)$/.test(path) && !SKIPPED.test(path) && existsSync(path));

const asked = process.argv.slice(2);
const prefixes = asked.length > 0 ? asked : clean();
const lines = [
  ...files
    .filter((path) => prefixes.some((prefix) => path.startsWith(prefix)))
    .flatMap((path) =>
      findPhrases(path, readFileSync(path, 'utf8')).map(
        ({ line, phrase, instead }) => `${path}:${line}: "${phrase}": write ${instead}`,
      ),
    ),
  ...prefixes
    .filter((prefix) => !files.some((path) => path.startsWith(prefix)))
    .map((prefix) => `${CLEAN}: no file begins with ${prefix}: write its new path`),
];
if (lines.length > 0) {
  console.error(`${lines.join('\n')}\n${lines.length} to rewrite`);
  process.exitCode = 1;
}
