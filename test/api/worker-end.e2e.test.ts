import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { AgentResource } from '../../domain/agents/resource.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { advisoryLocks } from '../../shared/postgres/advisory-locks.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { startProgram, type Program } from '../support/program.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { startSandboxAgent, type SandboxAgent } from '../support/sandbox-agent.ts';
import { until } from '../support/until.ts';

/** Work that a process has claimed when it ends, and the process that continues it. */

const settings = { OUTBOUND_ALLOW_LOOPBACK: 'true', AGENT_CHECK_MS: '1500' };
const SOURCES = ['web', 'app', 'shop'];
/**
 * A claim query waits for the lock for 2 s at most. Only one that has just begun still waits after
 * `ENDS_WITHIN_MS`.
 */
const [JUST_BEGUN_MS, ENDS_WITHIN_MS] = [300, 700];

let service: RunningService;
let agent: SandboxAgent;
let locked: Client;
let other: Program | undefined;
beforeAll(async () => {
  service = await startRunningService(settings);
  agent = await startSandboxAgent();
  locked = new Client({ connectionString: service.databaseUrl });
  await locked.connect();
});
afterAll(async () => {
  await other?.end('SIGTERM');
  await locked.end();
  await service.stop();
  await agent.stop();
});

it('after SIGTERM during a claim of work, another process immediately takes the claimed work', async () => {
  const { api } = await service.openAccount();
  const { id } = (await api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data;
  await api.post(`/advertisers/${id}/event-sources/sync`, {
    account: { account_id: String(id) },
    event_sources: SOURCES.map((event_source_id) => ({ event_source_id })),
  });
  const registered = await api.post<AgentResource>('/adcp-agents', {
    name: 'Sandbox',
    url: agent.url,
    protocol: 'MCP',
    auth: { type: 'bearer', token: agent.token },
    accountId: 'acct',
  });
  const work = async () => (await service.pool.query('select from work_list')).rows;

  // The query waits just before it claims.
  await locked.query('select pg_advisory_lock($1)', [advisoryLocks.workOffers]);
  for (const resourceId of SOURCES) {
    const on = { resourceId, adcpAgentIds: [registered.body.data.id], enabled: true };
    expect((await api.post(`/advertisers/${id}/syndicate`, on)).status).toBe(201);
  }
  await until(async () => (await work()).length === SOURCES.length);
  const isWaiting = async (): Promise<boolean> =>
    (
      await locked.query(
        `select from pg_locks join pg_stat_activity using (pid)
         where locktype = 'advisory' and objid = $1 and not granted
           and xact_start > (select max(due_at) from work_list)
           and clock_timestamp() - query_start < $2 * interval '1 millisecond'`,
        [advisoryLocks.workOffers, JUST_BEGUN_MS],
      )
    ).rowCount === 1;
  await until(isWaiting);
  const ended = service.end();
  await sleep(ENDS_WITHIN_MS);
  await locked.query('select pg_advisory_unlock($1)', [advisoryLocks.workOffers]);
  await ended;
  const { rowCount } = await locked.query(
    // The work cannot be claimed again: it can only be found as a job.
    `update work_list set leased_until = now() + interval '1 hour' where leased_until is not null`,
  );
  expect(rowCount).toBe(SOURCES.length);
  expect(await agent.eventSources('acct')).toEqual([]);

  other = startProgram({
    ...generousLimits,
    ...settings,
    ...service.stores,
    NODE_ENV: 'test',
    PORT: '0',
    ROLES: 'worker',
    SECRET_KEYS: `test:${'A'.repeat(43)}`,
  });
  await until(async () => (await agent.eventSources('acct')).length === SOURCES.length, 30_000);
});
