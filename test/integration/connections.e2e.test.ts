import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { allProjections } from '../../projections/all-projections.ts';
import { variables } from '../../app/config.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.stop());

const documented = async (): Promise<{
  readonly most: ReadonlyMap<string, number>;
  readonly together: number;
}> => {
  const [, section = ''] = (await readFile('docs/operate/capacity.md', 'utf8')).split(
    '### Connections to Postgres\n',
  );
  const rows = [...section.matchAll(/^\| `(exchange[a-z-]*)` +\| (\d+) +\|/gm)];
  return {
    most: new Map(rows.map(([, name = '', most]) => [name, Number(most)])),
    together: Number(/Together \*\*(\d+)\*\*/.exec(section)?.[1]),
  };
};

const openNow = async (): Promise<readonly { readonly name: string; readonly count: number }[]> => {
  const { rows } = await service.pool.query<{ name: string; count: number }>(
    `select application_name as name, count(*)::int as count from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() group by 1`,
  );
  return rows;
};

it('a process opens exactly the documented connections, also under load', async () => {
  const { most, together } = await documented();
  expect([...most.values()].reduce((sum, count) => sum + count, 0)).toBe(together);
  expect(most.get('exchange-derived')).toBe(allProjections.length + 4);
  expect(most.get('exchange-requests')).toBe(variables.DATABASE_POOL_MAX.parse(undefined));
  const { api } = await service.openAccount();
  const seen = new Map<string, number>();
  const write = (n: number) =>
    api.post('/advertisers', { name: `A ${n}` }, { 'Idempotency-Key': `many-connections-${n}` });
  const load = Promise.all(
    Array.from({ length: 200 }, (_, n) => (n % 2 === 0 ? write(n) : api.get('/advertisers?name=A'))),
  );
  let isOver = false;
  void load.finally(() => (isOver = true));
  while (!isOver) {
    for (const { name, count } of await openNow()) seen.set(name, Math.max(seen.get(name) ?? 0, count));
  }
  await load;
  const beyond = [...seen].filter(
    ([name, count]) => name.startsWith('exchange') && count > (most.get(name) ?? 0),
  );
  expect(beyond).toEqual([]);
  // The load was high enough to fill a pool.
  expect(seen.get('exchange-requests')).toBe(most.get('exchange-requests'));
}, 60_000);

it('the number of connections is documented once', async () => {
  const others = ['README.md', 'docker-compose.yml', 'app/config.ts', 'docs/design/guarantees.md'];
  for (const file of others) {
    expect(await readFile(file, 'utf8')).not.toMatch(
      /(?:twenty|\d+|few)(?: connections)? of (?:its own|each process)/i,
    );
  }
});
