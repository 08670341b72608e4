import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import type * as Pg from 'pg';
import { packageDirectory } from '../../app/version.ts';

/** The installed package: the bundle of the tests contains other source text. */
const pg = createRequire(join(packageDirectory, 'package.json'))('pg') as typeof Pg;

/**
 * Undocumented members of pg: `tenant-query.ts` sends messages through them, and `embedded/usage.ts` lets a process end
 * while its connection is open. If this test fails, pg has changed: read the new code, check these two files, run the
 * isolation and crash suites, then update the hashes.
 */
const PRIVATE_MEMBERS: Readonly<Record<string, string>> = {
  'Query.submit': '448358500f4827f4',
  'Query.requiresPreparation': '0e9719f540519a45',
  'Query.prepare': '37a5d2a4f601ba28',
  'Query.handleDataRow': 'd1b78f4094514814',
  'Query.handleCommandComplete': 'bf6d69ad2644fcd5',
  'Query.handleReadyForQuery': '31d37ea8bb37fffd',
  'Query.handleError': 'a5e58644becfe019',
  'Connection.parse': 'bc0ac953dc4f2aa4',
  'Connection.bind': 'adbc1e6bbeb66694',
  'Connection.describe': 'fbdec9e3d6cd0d0b',
  'Connection.execute': '12691129efb2d6d6',
  'Connection.sync': 'e1cf9bb53ad860bc',
  'Client.unref': 'cfec02e34cb7e633',
};

const prototypes = {
  Query: pg.Query.prototype,
  Connection: pg.Connection.prototype,
  Client: pg.Client.prototype,
};

/** First digits of the SHA-256 of a member's source text; `gone` if the function does not exist. */
const textOf = (name: string): string => {
  const [owner = '', member = ''] = name.split('.');
  const value: unknown = Reflect.get(prototypes[owner as keyof typeof prototypes], member);
  return typeof value === 'function'
    ? createHash('sha256').update(value.toString()).digest('hex').slice(0, 16)
    : 'gone';
};

it('has unchanged private members', () => {
  const now = Object.fromEntries(Object.keys(PRIVATE_MEMBERS).map((name) => [name, textOf(name)]));
  expect(now).toEqual(PRIVATE_MEMBERS);
});

it('stores the prepared statements of a connection where tenant queries read them', () => {
  const connection = new pg.Connection();
  expect(connection).toMatchObject({ parsedStatements: {}, submittedNamedStatements: {} });
});
