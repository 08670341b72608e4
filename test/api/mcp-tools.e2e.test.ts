import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { sleep } from '../../shared/async/backoff.ts';
import {
  callsNaming,
  done,
  makeBelongings,
  newKey,
  written,
  type ToolBelongings,
} from '../support/mcp-belongings.ts';
import { connectV2, officialClients, type ListedTool, type ToolClient } from '../support/mcp-clients.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** Each tool through each official client, and what a tool promises in addition to its result. */

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.stop());

const open = async (name: string, connect = connectV2('auto')) => {
  const account = await service.openAccount(name);
  return { account, client: await connect(`${service.baseUrl}/mcp`, account.apiKey) };
};

/** Calls whose outcome depends on an earlier one that is not made here. */
const refusedHere = new Set(['pause_campaign', 'reactivate_campaign', 'restore']);

describe.each(officialClients)('the official client, %s', (name, connect) => {
  let client: ToolClient;
  let tools: ReadonlyMap<string, ListedTool>;
  let own: ToolBelongings;
  const called = new Set<string>();
  beforeAll(async () => {
    ({ client } = await open(name, connect));
    const listed = await client.tools();
    tools = new Map(listed.map((one) => [one.name, one]));
    const plain = client.call;
    client = {
      ...client,
      call: (tool, input) => {
        called.add(tool);
        return plain(tool, input);
      },
    };
    own = await makeBelongings(client, name.replaceAll(/[^a-z0-9]+/g, '-'));
  });
  afterAll(() => client.close());

  it('calls every tool, and each result fits its schema', async () => {
    const calls = [
      ...callsNaming(own),
      ['get_status', {}],
      ['list_events', {}],
      ['get_delivery', {}],
      ['get_audit_log', { campaignId: own.campaignId }],
      ['get', { kind: 'account' }],
      ['get', { kind: 'seller', id: 1 }],
      ['get', { kind: 'creative_engine', id: 1 }],
      ['history', { kind: 'account' }],
      ...['advertiser', 'creative_engine', 'adcp_agent', 'webhook_subscription', 'seller'].map(
        (kind) => ['search', { kind, view: 'full' }] as const,
      ),
    ] as const;
    for (const [tool, input] of calls) {
      const { isError, content } = await client.call(tool, input);
      expect({ tool, input, isError, content }).toMatchObject({ isError: refusedHere.has(tool) });
      z.fromJSONSchema(tools.get(tool)?.outputSchema as Parameters<typeof z.fromJSONSchema>[0]).parse(
        content,
      );
    }
    expect([...called].toSorted()).toEqual([...tools.keys()].toSorted());
  }, 60_000);
});

describe('the list of tools', () => {
  const scoped = async ({ api }: TestAccount, scopes: readonly string[]): Promise<readonly ListedTool[]> => {
    const { key } = (await api.post<{ key: string }>('/api-keys', { name: 'Scoped', scopes })).body.data;
    const client = await connectV2('auto')(`${service.baseUrl}/mcp`, key);
    const tools = await client.tools();
    await client.close();
    return tools;
  };

  it('follows the scopes of the credential, in one order', async () => {
    const { account, client } = await open('Lists');
    const all = (await client.tools()).map(({ name }) => name);
    expect((await client.tools()).map(({ name }) => name)).toEqual(all);
    const reading = (await scoped(account, ['exchange:read'])).map(({ name }) => name);
    expect(reading).toEqual([
      'get_status',
      'search',
      'get',
      'history',
      'diff',
      'explain',
      'list_events',
      'get_delivery',
    ]);
    const writing = (await scoped(account, ['exchange:read', 'exchange:write'])).map(({ name }) => name);
    expect(writing).toEqual(all.filter((name) => name !== 'get_audit_log'));
    await client.close();
  });

  it('describes each tool, and declares what it may change', async () => {
    const { client } = await open('Descriptions');
    for (const { name, title, description, annotations, inputSchema } of await client.tools()) {
      const isRead = !(inputSchema['required'] as readonly string[] | undefined)?.includes('idempotencyKey');
      expect({ name, title, annotations }).toEqual({
        name,
        title: expect.any(String),
        annotations: {
          title,
          readOnlyHint: isRead,
          destructiveHint: name === 'archive',
          idempotentHint: true,
          openWorldHint: expect.any(Boolean),
        },
      });
      expect(description?.length).toBeGreaterThan(100);
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(JSON.stringify(inputSchema)).not.toContain('$ref');
      if (name !== 'get_status') {
        const [, example = ''] = /Example: (\{.*?\})\.(?: |$)/.exec(description ?? '') ?? [];
        const input = example.replace('"idempotencyKey":"…"', '"idempotencyKey":"example-0123456789"');
        // A schema of JSON has no messages, so what it refuses is shown with the tool.
        const fits = z.fromJSONSchema(inputSchema).safeParse(JSON.parse(input));
        expect([name, fits.success ? [] : fits.error.issues]).toEqual([name, []]);
        expect(example).not.toMatch(/"(?!(?:cmp|cre|ast|agt|con|whs)_…)[a-z]+_…"/);
      }
    }
    await client.close();
  });
});

describe('an idempotency key', () => {
  it('means one effect and one answer, over MCP and over REST', async () => {
    const { account, client } = await open('Keys');
    const body = { name: 'Once', primaryCurrency: 'EUR' };
    const idempotencyKey = newKey();
    const [first, again] = await Promise.all([
      written(client, 'save_advertiser', { name: 'Other' }),
      done(client, 'save_advertiser', { ...body, idempotencyKey }),
    ]);
    expect(first).not.toEqual(again);
    expect(await done(client, 'save_advertiser', { ...body, idempotencyKey })).toEqual(again);
    const overRest = await account.api.post('/advertisers', body, { 'Idempotency-Key': idempotencyKey });
    expect([overRest.status, overRest.headers.get('idempotent-replayed'), overRest.body.data]).toEqual([
      201,
      'true',
      again['object'],
    ]);
    const restKey = newKey();
    const created = await account.api.post('/advertisers', { name: 'Rest' }, { 'Idempotency-Key': restKey });
    expect(await done(client, 'save_advertiser', { name: 'Rest', idempotencyKey: restKey })).toEqual({
      action: 'created',
      object: created.body.data,
    });
    const { page } = await done(client, 'search', { kind: 'advertiser' });
    expect(page).toMatchObject({ total: 3 });
    await client.close();
  });

  it('of calls at the same time means one effect', async () => {
    const { client } = await open('At once');
    const call = { name: 'Once', idempotencyKey: newKey() };
    const answers = await Promise.all(Array.from({ length: 5 }, () => client.call('save_advertiser', call)));
    const final = await done(client, 'save_advertiser', call);
    for (const { isError, content } of answers) {
      if (isError)
        expect(content).toMatchObject({
          code: 'IDEMPOTENCY_IN_FLIGHT',
          recovery: 'transient',
          retry_after: 1,
        });
      else expect(content).toEqual(final);
    }
    expect((await done(client, 'search', { kind: 'advertiser' }))['page']).toMatchObject({ total: 1 });
    await client.close();
  });

  it('of another call is refused, and its form is checked', async () => {
    const { client } = await open('Conflicts');
    const idempotencyKey = newKey();
    await done(client, 'save_advertiser', { name: 'One', idempotencyKey });
    expect(await client.call('save_advertiser', { name: 'Two', idempotencyKey })).toMatchObject({
      isError: true,
      content: { code: 'IDEMPOTENCY_CONFLICT', field: 'idempotencyKey', recovery: 'correctable' },
    });
    for (const given of [{}, { idempotencyKey: 'short' }]) {
      expect(await client.call('save_advertiser', { name: 'Two', ...given })).toMatchObject({
        isError: true,
        content: { code: 'VALIDATION_ERROR', field: 'idempotencyKey' },
      });
    }
    await client.close();
  });
});

describe('arguments', () => {
  it('that a tool does not have, or that mean nothing to the step, are refused by name', async () => {
    const { client } = await open('Arguments');
    const refusals: readonly (readonly [string, object, string])[] = [
      ['save_advertiser', { nmae: 'A' }, 'nmae'],
      ['save_advertiser', { advertiserId: 1, sandbox: 'yes' }, 'sandbox'],
      ['save_campaign', { name: 'A', advertiserId: 1, expectedRevision: 1 }, 'expectedRevision'],
      ['save_campaign', { name: 'A' }, 'advertiserId'],
      ['save_creative', { formatKind: 'image' }, 'campaignId'],
      ['save_creative_session', { campaignId: 'cmp_1', step: 'refine', feedback: 'x' }, 'sessionId'],
      ['archive', { kind: 'asset', id: 'ast_1' }, 'advertiserId'],
      ['pause_campaign', {}, 'campaignId'],
    ];
    for (const [tool, input, field] of refusals) {
      const refused = await client.call(tool, { ...input, idempotencyKey: newKey() });
      expect({ tool, ...refused }).toMatchObject({
        isError: true,
        content: { code: 'VALIDATION_ERROR', field },
      });
    }
    const reads: readonly (readonly [string, object, string])[] = [
      ['get', { kind: 'campaign' }, 'id'],
      ['get', { kind: 'advertiser', id: 'x' }, 'id'],
      ['get', { kind: 'asset', id: 'ast_1' }, 'advertiserId'],
      ['get', { kind: 'seller', id: 1, asOf: '2026-01-01T00:00:00Z' }, 'asOf'],
      ['search', { kind: 'asset' }, 'filters.advertiserId'],
      ['search', { kind: 'advertiser', filters: { phase: 'draft' } }, 'filters.phase'],
      ['search', { kind: 'campaign', filters: { phase: 'drafted' } }, 'filters.phase'],
      ['search', { kind: 'advertiser', fields: ['nmae'] }, 'fields'],
      ['history', { kind: 'seller', id: 1 }, 'kind'],
      ['diff', { kind: 'advertiser', id: 1 }, 'from'],
    ];
    for (const [tool, input, field] of reads) {
      const refused = await client.call(tool, input as Record<string, unknown>);
      expect({ tool, input, ...refused }).toMatchObject({
        isError: true,
        content: { code: 'VALIDATION_ERROR', field },
      });
    }
    await client.close();
  });

  it('with half a character or U+0000 are refused like any other', async () => {
    const { client } = await open('Characters');
    for (const id of ['a\0b', 'a\uD800b']) {
      const refused = await client.call('get', { kind: 'campaign', id });
      expect(refused).toMatchObject({ isError: true, content: { code: 'NOT_FOUND' } });
    }
    await client.close();
  });
});

describe('history', () => {
  it('names the user, the tool and the time of a change', async () => {
    const { account, client } = await open('Historians');
    const own = await makeBelongings(client, 'history');
    const { campaignId } = own;
    await written(client, 'save_campaign', { campaignId, budget: { total: 250 } });
    await account.api.put(`/campaigns/${campaignId}`, { name: 'Renamed' });
    const events = (await done(client, 'history', { kind: 'campaign', id: campaignId }))['events'];
    const userId = `${account.customerId}-1`;
    expect(events).toMatchObject([
      { type: 'CampaignCreated', actorOrigin: 'MCP', userId },
      {
        type: 'CampaignUpdated',
        actorOrigin: 'MCP',
        userId,
        changes: [{ path: '/budget/total', before: 100, after: 250 }, {}, {}],
      },
      { type: 'CampaignUpdated', actorOrigin: 'API_KEY', userId },
    ]);
    const explained = await done(client, 'explain', { kind: 'campaign', id: campaignId, path: '/budget' });
    expect(explained['members']).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({
          path: '/budget/total',
          value: 250,
          setBy: expect.objectContaining({ revision: 2, actorOrigin: 'MCP', userId }),
        }),
      ]),
    );
    const diff = await done(client, 'diff', { kind: 'campaign', id: campaignId, from: 1, to: 2 });
    expect(diff).toMatchObject({ from: { revision: 1 }, to: { revision: 2 } });
    const then = await done(client, 'get', { kind: 'campaign', id: campaignId, asOf: 1 });
    expect(then['object']).toMatchObject({ budget: { total: 100 }, name: 'Spring' });
    const { logs } = await done(client, 'get_audit_log', { campaignId, actorOrigin: 'MCP' });
    const named = logs as readonly Record<string, unknown>[];
    expect(named.map(({ action }) => action)).toContain('CampaignUpdated');
    expect(named.every((log) => log['userId'] === userId && log['actorOrigin'] === 'MCP')).toBe(true);
    await client.close();
  });

  it('of refused calls is in the audit log', async () => {
    const { client } = await open('Refused');
    const { campaignId } = await makeBelongings(client, 'refused');
    await client.call('pause_campaign', { campaignId, idempotencyKey: newKey() });
    const logged = async () =>
      (await done(client, 'get_audit_log', { outcome: 'failed' }))['logs'] as readonly unknown[];
    // Refused calls are recorded shortly after the answer.
    for (let tries = 0; tries < 100 && (await logged()).length === 0; tries += 1) await sleep(50);
    expect(await logged()).toMatchObject([{ action: 'pauseCampaign', actorOrigin: 'MCP' }]);
    await client.close();
  });
});
