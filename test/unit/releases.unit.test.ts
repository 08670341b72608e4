import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { version } from '../../app/version.ts';
import {
  continuedReleases,
  folderOf,
  headings,
  lastRelease,
  namedBreakingChanges,
  nextVersion,
  releases,
} from '../support/releases.ts';

/** `CHANGELOG.md`, the packages and `test/released` name the same versions. */

const numbers = (text: string): readonly number[] => text.split('.').map(Number);

const isHigher = (one: string, other: string): boolean => {
  const [a, b] = [numbers(one), numbers(other)];
  const at = a.findIndex((n, index) => n !== b[index]);
  return at >= 0 && Number(a[at]) > Number(b[at]);
};

it('the changelog begins with the version that is being made, then names each release with its date and commit', () => {
  expect(headings[0]).toBe(`## ${nextVersion} (not released yet)`);
  expect(releases.length).toBe(headings.length - 1);
  const versions = [nextVersion, ...releases.map((release) => release.version)];
  for (const [index, earlier] of versions.slice(1).entries()) {
    expect([versions[index], earlier, isHigher(versions[index] ?? '', earlier)]).toEqual([
      versions[index],
      earlier,
      true,
    ]);
  }
});

it('the packages have its version: with `-dev`, but in the commit that is released', () => {
  expect([nextVersion, `${nextVersion}-dev`]).toContain(version);
  const client = JSON.parse(readFileSync('client/package.json', 'utf8')) as { version: string };
  expect(client.version).toBe(version);
});

it('every release from 0.2.0 on has its stores, answers, document and migrations in the repository', () => {
  for (const release of continuedReleases) {
    for (const file of ['backup/manifest.json', 'answers.json', 'openapi.json', 'migrations.json']) {
      expect([release.version, file, existsSync(`${folderOf(release.version)}/${file}`)]).toEqual([
        release.version,
        file,
        true,
      ]);
    }
  }
  const folders = readdirSync('test/released', { withFileTypes: true }).filter((one) => one.isDirectory());
  const known = new Set([version, ...continuedReleases.map((release) => release.version)]);
  expect(folders.filter(({ name }) => !known.has(name))).toEqual([]);
});

it('what breaks clients raises the second number, or the first one after 1.0.0', () => {
  if (Object.keys(namedBreakingChanges).length === 0) return;
  const [major, minor] = numbers(nextVersion);
  const [majorBefore, minorBefore] = numbers(lastRelease.version);
  expect(major === majorBefore ? major === 0 && Number(minor) > Number(minorBefore) : true).toBe(true);
});
