import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** What a client sends is stored, so its form and its size are bounded. */

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
afterAll(() => service.stop());

const send = (message: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${service.baseUrl}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${account.apiKey}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  });

const begin = async (name: string): Promise<string> => {
  const clientInfo = { name, version: '1.0.0' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const answer = await send({ method: 'initialize', params });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"result"')]);
  return answer.headers.get('mcp-session-id') ?? '';
};

const nameOf = async (): Promise<unknown> => {
  const { rows } = await service.pool.query<{ name: string }>(
    `select initialize->'clientInfo'->>'name' as name from mcp_sessions order by started_at desc limit 1`,
  );
  return rows[0]?.name;
};

const inSession = async (session: string, method: string, uri: string): Promise<string> => {
  const headers = { 'Mcp-Session-Id': session, 'Mcp-Protocol-Version': '2025-11-25' };
  return (await send({ method, params: { uri } }, headers)).text();
};

it.each([
  ['U+0000', 'a\0b', 'a b'],
  ['half a surrogate pair', 'a\ud83d', 'a\ufffd'],
  [
    'a surrogate pair at the end of the stored name',
    `${'x'.repeat(199)}\u{1f600}`,
    `${'x'.repeat(199)}\ufffd`,
  ],
])('a session begins for a client whose name holds %s', async (_what, name, kept) => {
  await begin(name);
  expect(await nameOf()).toBe(kept);
});

describe('an address to follow', () => {
  it.each([
    ['U+0000', 'exchange://advertiser/1\0'],
    ['half a surrogate pair', 'exchange://advertiser/1\ud83d'],
    ['more characters than an address has', `exchange://advertiser/${'1'.repeat(1_000)}`],
  ])('with %s is unknown', async (_what, uri) => {
    const session = await begin('test');
    for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
      expect(await inSession(session, method, uri)).toContain('Resource not found');
    }
    const { rows } = await service.pool.query('select from mcp_sessions where cardinality(followed) > 0');
    expect(rows).toEqual([]);
  });

  it('is refused without the words of the database', async () => {
    const session = await begin('test');
    await service.pool.query('alter table mcp_sessions rename column followed to away');
    const answer = await inSession(session, 'resources/subscribe', 'exchange://account');
    await service.pool.query('alter table mcp_sessions rename column away to followed');
    expect(answer).toContain('The service failed to answer.');
    expect(answer).not.toContain('followed');
  });
});

it('a stream follows no more addresses than 128 KiB hold', async () => {
  const resourceSubscriptions = Array.from({ length: 6_000 }, (_, n) => `exchange://advertiser/${n}`);
  const params = { notifications: { resourceSubscriptions } };
  const answer = await send({ method: 'subscriptions/listen', params });
  expect([answer.status, await answer.json()]).toMatchObject([413, { error: { code: 'PAYLOAD_TOO_LARGE' } }]);
});
