import type { AdvertiserResource } from '../../../domain/advertisers/resource.ts';
import { apiOf } from '../../support/api-client.ts';
import { runSql } from '../bench-database.ts';
import { rawRequest } from '../http-load.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import { startOwnService, type OwnService } from '../stage.ts';
import { advertisersPath, authorized, rate } from './advertiser-requests.ts';
import type { Scenario } from './scenario.ts';

const CONNECTIONS = 16;
const EVENTS = 10_000;
const GOAL = 5;

/** Past states of an advertiser with a long history, against its present state. */
export const history: Scenario = async (bench) => {
  const own = await startOwnService(bench);
  const api = apiOf(`http://127.0.0.1:${own.service.port}`, authorized(own));
  const { id } = (await api.post<AdvertiserResource>('/advertisers', { name: 'Changed' })).body.data;
  await changeOften(own, id);
  const path = `${advertisersPath}/${id}`;
  // A write by the account, so that the next read waits until the read model contains all events.
  await api.put(`/advertisers/${id}`, { name: 'Last' });
  await api.get(`/advertisers/${id}`);

  const timed = async (name: string, of: string): Promise<Line> => {
    const begunMs = performance.now();
    const { status } = await api.get(of);
    if (status !== 200) throw new Error(`${of}: ${status}`);
    return lineOf({ name, unit: 'ms', ours: [performance.now() - begunMs] });
  };
  const first = [
    await timed('GET detail asOf, the first of the stream', `/advertisers/${id}?asOf=${EVENTS}`),
    await timed('GET explain, the first of the stream', `/advertisers/${id}/explain`),
    await timed('GET explain, again', `/advertisers/${id}/explain`),
    await timed('GET audit log, 50 of 10,000 entries', `/audit-logs`),
    await timed('GET audit log, again', `/audit-logs`),
  ];
  const msOf = async (request: () => string): Promise<number> =>
    (CONNECTIONS * 1000) / (await rate(own.service.port, CONNECTIONS, bench.seconds, request));
  const get = (of: string): string => rawRequest('GET', of, authorized(own));
  const plain = get(path);
  const compare = async (name: string, asOf: () => string | number): Promise<Line> => {
    const result = await alternate(
      bench.rounds,
      () => msOf(() => get(`${path}?asOf=${asOf()}`)),
      () => msOf(() => plain),
    );
    const goal = { goal: GOAL, atMost: true };
    return lineOf({ name, unit: 'ms', ...result, baselineName: 'plain detail', ...goal });
  };
  const random = (): number => 1 + Math.floor(Math.random() * EVENTS);
  return [
    ...first,
    await compare(`GET detail asOf a random revision of ${EVENTS.toLocaleString('en')}`, random),
    await compare(`GET detail asOf a random time of ${EVENTS.toLocaleString('en')} events`, () =>
      timeOf(random()),
    ),
  ];
};

const BEGIN_MS = Date.parse('2100-01-01T00:00:00.000Z');
const timeOf = (revision: number): string => new Date(BEGIN_MS + 1_000 * revision).toISOString();

/** Writes changes of the name directly into the log, one second apart, as the port would write them. */
const changeOften = async ({ databaseUrl, customerId }: OwnService, id: number): Promise<void> => {
  const stream = `advertiser-${customerId}-${id}`;
  await runSql(
    databaseUrl,
    `insert into events (position, stream, revision, id, type, data, metadata)
     select head + n, '${stream}', n, gen_random_uuid(), 'AdvertiserUpdated',
       json_build_object('changes', json_build_object('name', 'Name ' || n, 'description', repeat('x', 100)))::text,
       json_build_object('customerId', ${customerId}, 'actor', 'operator', 'requestId', 'bench',
         'correlationId', 'bench', 'causationId', 'bench', 'schemaVersion', 1,
         'occurredAt', to_char(timestamp '2100-01-01' + n * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text
     from generate_series(1, ${EVENTS - 1}) n, (select max(position) as head from events) h`,
    `insert into account_positions (customer_id, position)
     select ${customerId}, lpad(max(position)::text, 16, '0') from events
     on conflict (customer_id) do update set position = excluded.position`,
  );
};
