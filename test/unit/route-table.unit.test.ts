import { describe, expect, it } from '@jest/globals';
import express, { type Request, type Response } from 'express';
import fc from 'fast-check';
import { BrokenPathError, createRouteTable } from '../../src/shared/http/route-table.ts';

type Found = readonly [target: string, params: Readonly<Record<string, string>>] | 'none' | 'broken';

const byTable = (paths: readonly string[], path: string): Found => {
  try {
    const found = createRouteTable(paths.map((one) => [one, one] as const))(path);
    return found === undefined ? 'none' : [found.target, { ...found.params }];
  } catch (error) {
    if (error instanceof BrokenPathError) return 'broken';
    throw error;
  }
};

/** What the router of Express finds, the same paths in alphabetical order ('{' is behind every letter). */
const byExpress = (paths: readonly string[], path: string): Found => {
  let found: Found = 'none';
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const one of paths.toSorted((a, b) => (a < b ? -1 : 1))) {
    router.all(one.replaceAll(/\{(\w+)\}/g, ':$1'), (request) => {
      found = [one, { ...(request.params as Record<string, string>) }];
    });
  }
  router({ method: 'GET', url: path } as Request, {} as Response, (error?: unknown) => {
    if (error !== undefined) found = 'broken';
  });
  return found;
};

describe('the route table', () => {
  const segment = fc.constantFrom('a', 'b', 'search');
  const parameter = fc.constantFrom('{id}', '{cid}', '{sid}');
  const declared = fc
    .array(fc.oneof({ arbitrary: segment, weight: 2 }, parameter), { minLength: 1, maxLength: 4 })
    // No name twice in a path; a path is declared once, whatever its parameters are called.
    .map((parts) => parts.map((part, at) => (part.startsWith('{') ? `{p${at}}` : part)));
  const sent = fc.array(fc.oneof(segment, fc.constantFrom('', 'A', 'x', '%41', '%2F', '%zz', 'a+b', 'ü')), {
    minLength: 1,
    maxLength: 5,
  });

  it('finds what the router of Express finds', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(
          declared.map((parts) => `/${parts.join('/')}`),
          { maxLength: 12 },
        ),
        sent,
        (paths, parts) => {
          const path = `/${parts.join('/')}`;
          expect([paths, path, byTable(paths, path)]).toEqual([paths, path, byExpress(paths, path)]);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('a path that is no path has nothing', () => {
    expect(byTable(['/a', '/{id}'], '*')).toBe('none');
    expect(byTable(['/a', '/{id}'], '')).toBe('none');
  });

  it('a parameter may have any name', () => {
    expect(byTable(['/{__proto__}'], '/x')).toEqual([
      '/{__proto__}',
      Object.fromEntries([['__proto__', 'x']]),
    ]);
  });

  it.each([[['/a', '/a']], [['/a/{id}', '/a/{other}']], [['/a/{id}.json']]])('refuses %j', (paths) => {
    expect(() => byTable(paths, '/')).toThrow();
  });
});
