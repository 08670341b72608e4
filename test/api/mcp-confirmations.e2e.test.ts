import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { done, newKey, written, type Arguments } from '../support/mcp-belongings.ts';
import { connectV1, connectV2, type CalledTool, type ToolClient } from '../support/mcp-clients.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** Calls that a person must agree to: the confirmation in the arguments, and by the client's own question. */

let service: RunningService;
let account: TestAccount;
let client: ToolClient;
let advertiserId: number;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount('Confirming');
  client = await connect(account);
  const made = await written(client, 'save_advertiser', { name: 'A', sandbox: true });
  advertiserId = (made['object'] as { id: number }).id;
  await written(client, 'save_event_source', { advertiserId, event_sources: [{ event_source_id: 'shop' }] });
});
afterAll(async () => {
  await client.close();
  await service.stop();
});

const connect = ({ apiKey }: TestAccount, how = connectV2('auto')): Promise<ToolClient> =>
  how(`${service.baseUrl}/mcp`, apiKey);

const draft = async (): Promise<string> => {
  const made = await written(client, 'save_campaign', { advertiserId, name: 'Draft', budget: { total: 50 } });
  return (made['object'] as { id: string }).id;
};
const phaseOf = async (campaignId: string): Promise<unknown> =>
  ((await done(client, 'get', { kind: 'campaign', id: campaignId }))['object'] as { phase: string }).phase;

interface Pending {
  readonly action: string;
  readonly confirmation: {
    readonly confirmationUid: string;
    readonly expiresAt: string;
    readonly summary: string;
  };
}
const pendingOf = async (name: string, input: Arguments, by = client): Promise<Pending['confirmation']> => {
  const pending = (await done(by, name, { ...input, idempotencyKey: newKey() })) as unknown as Pending;
  expect(pending.action).toBe('pending_confirmation');
  return pending.confirmation;
};
const confirmed = (
  name: string,
  input: Arguments,
  confirmationUid: string,
  by = client,
): Promise<CalledTool> =>
  by.call(name, { idempotencyKey: newKey(), ...input, confirm: true, confirmationUid });

const refused = (code: string, field = 'confirmationUid') => ({ isError: true, content: { code, field } });

describe('a confirmation', () => {
  it('is asked for before anything is done, and then the call is done once', async () => {
    const campaignId = await draft();
    const first = await done(client, 'launch_campaign', { campaignId, idempotencyKey: newKey() });
    expect(first).toEqual({
      action: 'pending_confirmation',
      confirmation: {
        confirmationUid: expect.any(String),
        expiresAt: expect.any(String),
        summary: expect.stringMatching(/Draft.*cmp_.*50 USD/),
        tool: 'launch_campaign',
        revision: 1,
      },
    });
    const { confirmationUid, expiresAt } = (first as unknown as Pending).confirmation;
    const minutes = (Date.parse(expiresAt) - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(14.5);
    expect(minutes).toBeLessThanOrEqual(15.1);
    expect(await phaseOf(campaignId)).toBe('draft');
    const idempotencyKey = newKey();
    const call = { campaignId, idempotencyKey };
    const launched = await confirmed('launch_campaign', call, confirmationUid);
    expect(launched).toMatchObject({
      isError: false,
      content: { action: 'launched', object: { phase: 'active' } },
    });
    // The same key: the same answer, although the confirmation is used.
    expect(await confirmed('launch_campaign', call, confirmationUid)).toEqual(launched);
    expect(await confirmed('launch_campaign', { campaignId }, confirmationUid)).toMatchObject(
      refused('CONFIRMATION_EXPIRED'),
    );
  });

  it('belongs to its arguments', async () => {
    const [one, other] = [await draft(), await draft()];
    const { confirmationUid } = await pendingOf('launch_campaign', { campaignId: one });
    expect(await confirmed('launch_campaign', { campaignId: other }, confirmationUid)).toMatchObject(
      refused('CONFLICT'),
    );
    const named = { kind: 'campaign', id: one };
    expect(await confirmed('archive', named, confirmationUid)).toMatchObject(refused('CONFLICT'));
    expect([await phaseOf(one), await phaseOf(other)]).toEqual(['draft', 'draft']);
    // It is not used by a call that it does not belong to.
    expect(await confirmed('launch_campaign', { campaignId: one }, confirmationUid)).toMatchObject({
      isError: false,
    });
  });

  it('belongs to what the person saw: another budget needs another one; a repeat does not', async () => {
    const campaignId = await draft();
    const { confirmationUid } = await pendingOf('launch_campaign', { campaignId });
    const spend = (total: number) => written(client, 'save_campaign', { campaignId, budget: { total } });
    await spend(5_000);
    expect(await confirmed('launch_campaign', { campaignId }, confirmationUid)).toMatchObject(
      refused('CONFLICT'),
    );
    expect(await phaseOf(campaignId)).toBe('draft');
    const again = await pendingOf('launch_campaign', { campaignId });
    expect(again.summary).toContain('5000 USD');
    const call = { campaignId, idempotencyKey: newKey() };
    const launched = await confirmed('launch_campaign', call, again.confirmationUid);
    expect(launched).toMatchObject({ isError: false, content: { action: 'launched' } });
    await spend(6_000);
    expect(await confirmed('launch_campaign', call, again.confirmationUid)).toEqual(launched);
  });

  it('belongs to its account', async () => {
    const campaignId = await draft();
    const { confirmationUid } = await pendingOf('launch_campaign', { campaignId });
    const other = await service.openAccount('Others');
    const theirs = await connect(other);
    expect(await confirmed('launch_campaign', { campaignId }, confirmationUid, theirs)).toMatchObject({
      isError: true,
      content: { code: 'NOT_FOUND' },
    });
    const own = await written(theirs, 'save_advertiser', { name: 'Theirs' });
    const archive = { kind: 'advertiser', id: (own['object'] as { id: number }).id };
    expect(await confirmed('archive', archive, confirmationUid, theirs)).toMatchObject(
      refused('CONFIRMATION_EXPIRED'),
    );
    await theirs.close();
    expect(await confirmed('launch_campaign', { campaignId }, confirmationUid)).toMatchObject({
      isError: false,
    });
  });

  it('ends after 15 minutes', async () => {
    const campaignId = await draft();
    const { confirmationUid } = await pendingOf('launch_campaign', { campaignId });
    const age = (minutes: number) =>
      service.pool.query(
        `update confirmations set created_at = created_at - make_interval(mins => $2) where uid = $1`,
        [confirmationUid, minutes],
      );
    await age(16);
    expect(await confirmed('launch_campaign', { campaignId }, confirmationUid)).toMatchObject(
      refused('CONFIRMATION_EXPIRED'),
    );
    await age(-2);
    expect(await confirmed('launch_campaign', { campaignId }, confirmationUid)).toMatchObject({
      isError: false,
    });
  });

  it('cannot be invented', async () => {
    const campaignId = await draft();
    const call = { campaignId, idempotencyKey: newKey() };
    expect(await client.call('launch_campaign', { ...call, confirm: true })).toMatchObject(
      refused('VALIDATION_ERROR'),
    );
    for (const uid of ['me', '00000000-0000-4000-8000-000000000000']) {
      expect(await confirmed('launch_campaign', { campaignId }, uid)).toMatchObject(
        refused('CONFIRMATION_EXPIRED'),
      );
    }
    const { confirmationUid } = await pendingOf('launch_campaign', { campaignId });
    for (const confirm of [{}, { confirm: false }]) {
      expect(await client.call('launch_campaign', { ...call, ...confirm, confirmationUid })).toMatchObject(
        refused('VALIDATION_ERROR', 'confirm'),
      );
    }
    expect(await phaseOf(campaignId)).toBe('draft');
  });

  it('is not asked for what the service refuses anyway', async () => {
    const campaignId = `cmp_${'0'.repeat(32)}`;
    expect(await client.call('launch_campaign', { campaignId, idempotencyKey: newKey() })).toMatchObject({
      isError: true,
      content: { code: 'NOT_FOUND' },
    });
  });
});

describe('what needs one', () => {
  const events = (count: number) =>
    Array.from({ length: count }, (_, n) => ({
      eventId: `e-${count}-${n}`,
      eventTime: new Date().toISOString(),
    }));

  it('more than 1,000 conversion events, not 1,000', async () => {
    const call = { eventSourceId: 'shop', advertiserId };
    const logged = await written(client, 'log_conversions', { ...call, events: events(1_000) });
    expect(logged).toMatchObject({ action: 'logged', object: { accepted: 1_000 } });
    const many = { ...call, events: events(1_001) };
    const { confirmationUid, summary } = await pendingOf('log_conversions', many);
    expect(summary).toMatch(/1001 conversion events.*1001 would count/);
    expect(
      await confirmed('log_conversions', { ...many, events: events(1_002) }, confirmationUid),
    ).toMatchObject(refused('CONFLICT'));
    expect(await confirmed('log_conversions', many, confirmationUid)).toMatchObject({
      content: { action: 'logged', object: { accepted: 1_001, duplicates: 0 } },
    });
  });

  it('deleting audiences, event sources and catalogs', async () => {
    await written(client, 'save_audience', {
      advertiserId,
      audiences: [{ audienceId: 'one' }, { audienceId: 'two' }],
    });
    const removal = { advertiserId, audiences: [{ audienceId: 'one', delete: true }] };
    const { confirmationUid, summary } = await pendingOf('save_audience', removal);
    expect(summary).toContain('delete 1 audience: "one"');
    const listed = async () =>
      (
        (await done(client, 'search', { kind: 'audience', filters: { advertiserId } }))['page'] as {
          total: number;
        }
      ).total;
    expect(await listed()).toBe(2);
    expect(await confirmed('save_audience', removal, confirmationUid)).toMatchObject({ isError: false });
    expect(await listed()).toBe(1);
    const all = { advertiserId, event_sources: [{ event_source_id: 'other' }], delete_missing: true };
    expect((await pendingOf('save_event_source', all)).summary).toContain('not among the 1 in this call');
  });

  it('archiving, and a call that needs none refuses one', async () => {
    const campaignId = await draft();
    const named = { kind: 'campaign', id: campaignId };
    const { confirmationUid } = await pendingOf('archive', named);
    expect(await confirmed('archive', named, confirmationUid)).toMatchObject({
      content: { action: 'archived', kind: 'campaign', id: campaignId },
    });
    expect(await phaseOf(campaignId)).toBe('archived');
    const plain = { advertiserId, audiences: [{ audienceId: 'two' }] };
    expect(await confirmed('save_audience', plain, confirmationUid)).toMatchObject(
      refused('VALIDATION_ERROR', 'confirm'),
    );
  });
});

describe('a client that can ask the person', () => {
  const launchWith = async (answer: 'accept' | 'decline', content?: { confirm: boolean }) => {
    const campaignId = await draft();
    const asked: string[] = [];
    const asking = await connect(
      account,
      connectV2('auto', (message) => {
        asked.push(message);
        return { action: answer, ...(content && { content }) };
      }),
    );
    const result = await asking.call('launch_campaign', { campaignId, idempotencyKey: newKey() });
    await asking.close();
    return { asked, result, phase: await phaseOf(campaignId) };
  };

  const unused = async (): Promise<unknown> =>
    (await service.pool.query(`select uid from confirmations where used_by is null order by uid`)).rows;

  it('asks, and the one call is done', async () => {
    const { asked, result, phase } = await launchWith('accept', { confirm: true });
    expect(asked).toEqual([expect.stringMatching(/Launch campaign "Draft"/)]);
    expect(result).toMatchObject({ isError: false, content: { action: 'launched' } });
    expect(phase).toBe('active');
  });

  it.each([
    ['declines', 'decline', undefined],
    ['does not tick the box', 'accept', { confirm: false }],
  ] as const)('and nothing is done, nor can be, if the person %s', async (_how, answer, content) => {
    const before = await unused();
    const { result, phase } = await launchWith(answer, content);
    expect([result.content, phase]).toEqual([{ action: 'declined' }, 'draft']);
    expect(await unused()).toEqual(before);
  });

  interface Message {
    readonly params?: {
      readonly requestState?: string;
      readonly arguments?: Arguments;
      readonly inputResponses?: unknown;
    };
  }
  type Send = Parameters<typeof fetch>[1];
  const changing =
    (change: (params: NonNullable<Message['params']>) => object, headers: object = {}) =>
    (url: Parameters<typeof fetch>[0], init: Send): Promise<Response> => {
      const message = (typeof init?.body === 'string' ? JSON.parse(init.body) : {}) as Message;
      if (message.params?.requestState === undefined) return fetch(url, init);
      const body = JSON.stringify({ ...message, params: { ...message.params, ...change(message.params) } });
      const all = new Headers(init?.headers);
      for (const [name, value] of Object.entries(headers)) all.set(name, String(value));
      return fetch(url, { ...init, headers: all, body });
    };
  const accept = () => ({ action: 'accept', content: { confirm: true } }) as const;

  it('cannot change what the person has confirmed, nor answer for another credential', async () => {
    const [campaignId, another] = [await draft(), await draft()];
    const { key } = (await account.api.post<{ key: string }>('/api-keys', { name: 'Second' })).body.data;
    const callWith = async (through: ReturnType<typeof changing>): Promise<CalledTool | string> => {
      const changed = await connect(account, connectV2('auto', accept, through));
      const result = await changed
        .call('launch_campaign', { campaignId, idempotencyKey: newKey() })
        .catch((error: unknown) => String(error));
      await changed.close();
      return result;
    };
    const flip = (state: string): string =>
      `${state.slice(0, 8)}${state[8] === 'A' ? 'B' : 'A'}${state.slice(9)}`;
    expect(
      await callWith(changing(({ requestState = '' }) => ({ requestState: flip(requestState) }))),
    ).toContain('Invalid or expired requestState');
    expect(await callWith(changing(() => ({}), { Authorization: `Bearer ${key}` }))).toContain(
      'Invalid or expired requestState',
    );
    const toAnother = changing(({ arguments: given }) => ({ arguments: { ...given, campaignId: another } }));
    expect(await callWith(toAnother)).toMatchObject(refused('CONFLICT'));
    expect([await phaseOf(campaignId), await phaseOf(another)]).toEqual(['draft', 'draft']);
    expect(await callWith(changing(() => ({})))).toMatchObject({ content: { action: 'launched' } });
  });

  it('of an earlier protocol version asks the person, too, if it can; else the result has the confirmation', async () => {
    const campaignId = await draft();
    const plain = await connect(account, connectV1);
    await pendingOf('launch_campaign', { campaignId }, plain);
    await plain.close();
    const asking = await connect(account, connectV2('legacy', accept));
    const launch = { campaignId, idempotencyKey: newKey() };
    expect(await asking.call('launch_campaign', launch)).toMatchObject({ content: { action: 'launched' } });
    await asking.close();
    const declining = await connect(
      account,
      connectV2('legacy', () => ({ action: 'decline' })),
    );
    const another = { campaignId: await draft(), idempotencyKey: newKey() };
    expect(await declining.call('launch_campaign', another)).toMatchObject({
      content: { action: 'declined' },
    });
    await declining.close();
  });
});
