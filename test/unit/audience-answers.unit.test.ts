import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { AgentAnswer } from '../../command/workers/syndication/agent-call.ts';
import type { DeliveryPart } from '../../command/workers/syndication/audience-delivery.ts';
import type { Question } from '../../command/workers/syndication/ask-agent.ts';
import { loadRecord } from '../../command/workers/syndication/record-steps.ts';
import { shownText } from '../../shared/outbound/shown-text.ts';
import { take } from '../../command/workers/syndication/deliver.ts';
import { membersConcealed } from '../../command/workers/syndication/without-members.ts';
import { syndicationAggregate, syndicationStream } from '../../domain/syndication/syndication.ts';
import { executeCommand } from '../../shared/aggregate/execute-command.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';

/** An agent that repeats whom it was sent does not bring them into the log. */

const hash = (n: number): string => n.toString(16).padStart(64, 'a');
const add = [
  { external_id: 'crm:Jane-7', hashed_email: hash(1), uids: [{ type: 'uid2', value: 'Kl/KfE+6==' }] },
];
const remove = [{ external_id: 'crm:Jane', hashed_phone: hash(2) }];
const account = { account_id: 'acct' };
const request = { account, audiences: [{ audience_id: 'vip', name: 'VIP', add, remove }] };

/** What the log has of a delivery of one part that an agent answered. */
const kept = async (answer: AgentAnswer, isLastAttempt = true): Promise<string> => {
  const store = createMemoryEventStore();
  const [customerId, recordId] = [1, randomUUID()];
  const context = { commandId: randomUUID(), customerId, actor: 'test', requestId: 'r' };
  const ids = { recordId, customerId, advertiserId: 5, resourceType: 'AUDIENCE', resourceId: 'vip' } as const;
  const stream = syndicationStream(customerId, recordId);
  const now = '2026-01-01T00:00:00.000Z';
  await executeCommand(store, syndicationAggregate, {
    stream,
    command: {
      type: 'ToggleSyndication',
      now,
      record: { ...ids, agentId: randomUUID(), account },
      enabled: true,
    },
    context,
  });
  const part: DeliveryPart = {
    idempotencyKey: 'key',
    request,
    isDrop: false,
    isLast: true,
    taken: async () => undefined,
  };
  const options = {
    store,
    clock: { now: () => Date.parse(now) },
    secrets: { get: async () => undefined },
    callAgent: async () => answer,
    atAgents: { holders: async () => ({}) },
    audienceParts: {
      of: async function* () {
        yield await Promise.resolve(part);
      },
      forget: async () => undefined,
    },
  };
  const loaded = await loadRecord({ store }, { customerId, recordId });
  if (loaded === undefined) throw new Error('there is no record');
  const question = {
    record: loaded.record,
    kind: {
      delivery: 'members',
      itemsMember: 'audiences',
      idMember: 'audience_id',
      dropping: { by: 'name' },
      load: async () => ({ item: { audience_id: 'vip', revision: 0 }, revision: 0 }),
    },
    agent: { customerId, url: 'https://agent.example.com/mcp', protocol: 'MCP' },
    run: { isLastAttempt, signal: new AbortController().signal },
  } as unknown as Question;
  await take(options as never, question, loaded);
  const last: unknown[] = [];
  for await (const { type, data } of store.readStream(stream, {})) last.splice(0, 1, { type, data });
  return JSON.stringify(last[0]);
};

const WORDS = `No match: ${hash(1).toUpperCase()}, (crm:Jane-7), Kl/KfE+6== and crm:jane.`;
const HIDDEN = 'No match: [member], ([member]), [member] and [member].';

it('what an agent says of members is kept without them', async () => {
  const row = (more: object) => ({ data: { audiences: [{ audience_id: 'vip', ...more }] } });
  const done = await kept({
    outcome: 'completed',
    ...(row({ action: 'updated', unmatched: { 'crm:Jane': [hash(2)] }, note: WORDS }) as { data: never }),
  });
  expect(JSON.parse(done)).toMatchObject({
    type: 'SyndicationCompleted',
    data: {
      responseData: {
        audience_id: 'vip',
        action: 'updated',
        unmatched: { '[member]': ['[member]'] },
        note: HIDDEN,
      },
    },
  });
  for (const answer of [
    { outcome: 'refused', message: WORDS },
    { outcome: 'retry', message: WORDS, afterMs: 0 },
    { outcome: 'completed', ...row({ action: 'failed', errors: [{ message: WORDS }] }) },
  ]) {
    const failed: unknown = JSON.parse(await kept(answer as AgentAnswer));
    expect(failed).toMatchObject({ type: 'SyndicationFailed', data: { errorMessage: HIDDEN } });
  }
  await expect(kept({ outcome: 'retry', message: WORDS, afterMs: 0 }, false)).rejects.toThrow(HIDDEN);
});

const id = fc.string({
  unit: fc.constantFrom('a', 'b', 'C', '1', '-', '.', ':'),
  minLength: 4,
  maxLength: 9,
});

it('none of any members is left in any text, and nothing else is taken out', () => {
  fc.assert(
    fc.property(fc.array(id, { maxLength: 20 }), fc.array(fc.oneof(id, fc.string())), (ids, texts) => {
      const members = ids.map((external_id) => ({ external_id }));
      const said = texts.join('');
      const shown = membersConcealed({ audiences: [{ add: members }] })(said);
      const small = shown.split('[member]').map((piece) => piece.toLowerCase());
      for (const one of ids) for (const piece of small) expect(piece).not.toContain(one.toLowerCase());
      if (!ids.some((one) => said.toLowerCase().includes(one.toLowerCase()))) expect(shown).toBe(said);
    }),
  );
});

it('a text that is too long is not cut within an id', () => {
  const text = shownText(`${'words '.repeat(80)}${'x'.repeat(12)} ${hash(1)}`);
  expect(text).toBe(`${'words '.repeat(80)}${'x'.repeat(12)} `);
  expect(shownText('x '.repeat(249))).toHaveLength(498);
});
