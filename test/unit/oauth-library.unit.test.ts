import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { packageDirectory } from '../../app/version.ts';
import { createProvider, type ProviderOptions } from '../../command/accounts/oauth/provider.ts';

/** Client metadata documents are experimental in the library: they change in minor versions. */

const FEATURES: string = 'oidc-provider/lib/helpers/features.js';

const unused = (): never => {
  throw new Error('nothing is asked before the first request');
};

const options = {
  pool: { query: unused },
  records: { write: unused, find: unused, consume: unused, remove: unused },
  baseUrl: 'https://exchange.example.com',
  cookieKey: 'key',
  isUser: unused,
  mayFetch: unused,
  fetchMetadata: unused,
  endGrant: unused,
  onError: unused,
} as ProviderOptions;

it('is pinned to one version, which is installed', () => {
  const read = (path: string) =>
    JSON.parse(readFileSync(join(packageDirectory, path), 'utf8')) as {
      readonly version: string;
      readonly dependencies: Readonly<Record<string, string>>;
    };
  const pinned = read('package.json').dependencies['oidc-provider'];
  expect(pinned).toMatch(/^\d+\.\d+\.\d+$/);
  expect(read('node_modules/oidc-provider/package.json').version).toBe(pinned);
});

it('starts with the draft of metadata documents that was read, and with no other', async () => {
  await expect(createProvider(options)).resolves.toBeDefined();
  const { EXPERIMENTS } = (await import(FEATURES)) as {
    readonly EXPERIMENTS: Map<string, { readonly name: string; readonly version: string }>;
  };
  const known = EXPERIMENTS.get('clientIdMetadataDocument');
  if (known === undefined) throw new Error('it is stable now');
  EXPERIMENTS.set('clientIdMetadataDocument', { ...known, version: 'draft-03' });
  await expect(createProvider(options)).rejects.toThrow('unacknowledged version');
  EXPERIMENTS.set('clientIdMetadataDocument', known);
  await expect(createProvider(options)).resolves.toBeDefined();
});
