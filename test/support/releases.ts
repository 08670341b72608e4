import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { version } from '../../app/version.ts';

/** The versions in `CHANGELOG.md`, newest first, and what `test/released` has of each. CONTRIBUTING.md has the recipe. */

export interface Release {
  readonly version: string;
  /** `2026-11-27` */
  readonly date: string;
  readonly commit: string;
}

const changelog = readFileSync('CHANGELOG.md', 'utf8');

/** ``## 0.2.0 (2026-11-27, commit `1d48da13`)`` */
const RELEASED = /^## (\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d), commit `([\da-f]{8,40})`\)$/;
const NOT_RELEASED = /^## (\d+\.\d+\.\d+) \(not released yet\)$/;

export const headings: readonly string[] = changelog.split('\n').filter((line) => line.startsWith('## '));

export const nextVersion = NOT_RELEASED.exec(headings[0] ?? '')?.[1] ?? '';

export const releases: readonly Release[] = headings.flatMap((heading) => {
  const [, number = '', date = '', commit = ''] = RELEASED.exec(heading) ?? [];
  return number === '' ? [] : [{ version: number, date, commit }];
});

/** Those whose stores later versions continue from: 0.2.0 refuses a database of 0.1.0. */
export const continuedReleases = releases.filter(({ version: release }) => release !== '0.1.0');

export const lastRelease = ((): Release => {
  const [first] = releases;
  if (first === undefined) throw new Error('CHANGELOG.md names no release');
  return first;
})();

export const folderOf = (release: string): string => `test/released/${release}`;

export const readReleased = (release: string, file: string): unknown =>
  JSON.parse(readFileSync(`${folderOf(release)}/${file}`, 'utf8'));

/** With `GOLDEN_WRITE=true`, in the commit that is to be released: no other one has a version without `-dev`. */
export const writeAtRelease = (file: string, text: () => string): void => {
  if (process.env['GOLDEN_WRITE'] !== 'true' || version !== nextVersion) return;
  mkdirSync(folderOf(version), { recursive: true });
  writeFileSync(`${folderOf(version)}/${file}`, `${text()}\n`);
};

/** What breaks clients of the last release, each with its reason. */
export const namedBreakingChanges = JSON.parse(
  readFileSync('test/released/named-breaking-changes.json', 'utf8'),
) as Readonly<Record<string, string>>;
