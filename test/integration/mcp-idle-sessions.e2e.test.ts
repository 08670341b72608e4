import { expect, it } from '@jest/globals';
import { startMeasuredNode } from '../support/measured-node.ts';
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
  const node = await startMeasuredNode(service);
  const begin = async (apiKey: string): Promise<void> => {
    const answer = await fetch(`${node.baseUrl}/mcp`, {
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
    // Code, connections and caches that any number of sessions needs.
    await beginOf(200);
    const before = await node.measure();
    await beginOf(SESSIONS);
    const { rows } = await service.pool.query('select count(*)::int as count from mcp_sessions');
    expect(rows).toEqual([{ count: SESSIONS + 200 }]);
    let after = await node.measure();
    // Those of the last requests, e.g. of idle connections, end.
    await until(async () => (after = await node.measure()).timers <= before.timers);
    console.log(`${((after.bytes - before.bytes) / SESSIONS).toFixed(0)} bytes a session`);
    expect(after.bytes - before.bytes).toBeLessThan(BYTES_MAX);
  } finally {
    await node.end();
    await service.stop();
  }
});
