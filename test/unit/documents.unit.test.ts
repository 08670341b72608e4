import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { creativeEngines } from '../../domain/engines/engine-resource.ts';

/** What documents say and a program decides. */

const read = (file: string): Promise<string> => readFile(file, 'utf8');

it('the oldest Node.js that is supported is the same everywhere', async () => {
  const Engines = z.object({ engines: z.object({ node: z.string() }) });
  const Lock = z.object({ packages: z.object({ '': Engines }) });
  const { engines } = Engines.parse(JSON.parse(await read('package.json')));
  const locked = Lock.parse(JSON.parse(await read('package-lock.json'))).packages[''].engines;
  expect([engines.node, locked.node]).toEqual(['>=20.19', '>=20.19']);
  expect(await read('README.md')).toContain('Node.js 20.19 or newer');
});

describe('what is not there yet', () => {
  it('engines that nobody calls are stand-ins, in the directory and in the documents', async () => {
    const document = await read('docs/engines.md');
    for (const { id, name, standIn } of creativeEngines) {
      expect(document).toMatch(new RegExp(`^\\| ${id} +\\| ${name} +\\| ${standIn} `, 'm'));
    }
    expect(creativeEngines.filter(({ standIn }) => standIn).map(({ id }) => id)).toEqual([2, 3]);
    expect(await read('README.md')).toContain('`standIn: true`');
    expect(await read('README.md')).not.toContain('nothing here is a stub');
  });
});
