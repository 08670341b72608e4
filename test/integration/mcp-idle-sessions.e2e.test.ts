import { expect, it } from '@jest/globals';
import { measureCollected } from '../support/collected-memory.ts';
import { freePort } from '../support/free-port.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { startProgram } from '../support/program.ts';
import { startRunningService } from '../support/running-service.ts';
import { until } from '../support/until.ts';

const SESSIONS = 1_000;
const SESSIONS_OF_CREDENTIAL = 20;
const BYTES_MAX = 5_000_000;

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 'test', version: '1.0.0' },
  },
});

it('a process holds nothing for a session that is idle: no timer, and 1,000 need at most 5 MB', async () => {
  const service = await startRunningService();
  const { environment, measure } = await measureCollected();
  const port = await freePort();
  const node = startProgram({
    ...environment,
    ...service.stores,
    ...generousLimits,
    NODE_ENV: 'test',
    PORT: String(port),
    ROLES: 'api',
    LOG_LEVEL: 'silent',
    DATA_DIR: service.dataDir,
    SECRET_KEYS: `test:${'A'.repeat(43)}`,
  });
  const begin = async (apiKey: string): Promise<void> => {
    const answer = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${apiKey}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      },
      body: initialize,
    });
    await answer.text();
    expect(answer.headers.get('mcp-session-id')).not.toBeNull();
  };
  const beginOf = async (sessions: number): Promise<void> => {
    for (let begun = 0; begun < sessions; begun += SESSIONS_OF_CREDENTIAL) {
      const { apiKey } = await service.openAccount();
      for (let n = 0; n < SESSIONS_OF_CREDENTIAL; n += 1) await begin(apiKey);
    }
  };
  try {
    await until(
      async () => (await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined))?.ok === true,
    );
    // Code, connections and caches that any number of sessions needs.
    await beginOf(200);
    const before = await measure();
    await beginOf(SESSIONS);
    const { rows } = await service.pool.query('select count(*)::int as count from mcp_sessions');
    expect(rows).toEqual([{ count: SESSIONS + 200 }]);
    let after = await measure();
    // Those of the last requests, e.g. of idle connections, end.
    await until(async () => (after = await measure()).timers <= before.timers);
    console.log(`${((after.bytes - before.bytes) / SESSIONS).toFixed(0)} bytes a session`);
    expect(after.bytes - before.bytes).toBeLessThan(BYTES_MAX);
  } finally {
    await node.end('SIGKILL');
    await service.stop();
  }
});
