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

const hash = (n: number): string => n.toString(16).padStart(64, 'a');
const add = [
  { external_id: 'crm:Jane-7', hashed_email: hash(1), uids: [{ type: 'uid2', value: 'Kl/KfE+6==' }] },
];
const remove = [{ external_id: 'crm:Jane', hashed_phone: hash(2) }];
const account = { account_id: 'acct' };
const request = { account, audiences: [{ audience_id: 'vip', name: 'VIP', add, remove }] };

/** Delivers one part. @returns the last event of the record as JSON */
const recordedAfter = async (answer: AgentAnswer, isLastAttempt = true): Promise<string> => {
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
  if (loaded === undefined) throw new Error('record not found');
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

const MESSAGE = `No match: ${hash(1).toUpperCase()}, (crm:Jane-7), Kl/KfE+6== and crm:jane.`;
const REDACTED = 'No match: [member], ([member]), [member] and [member].';

it("when an agent's answer repeats members, then the log contains the answer without them", async () => {
  const row = (more: object) => ({ data: { audiences: [{ audience_id: 'vip', ...more }] } });
  const done = await recordedAfter({
    outcome: 'completed',
    ...(row({ action: 'updated', unmatched: { 'crm:Jane': [hash(2)] }, note: MESSAGE }) as { data: never }),
  });
  expect(JSON.parse(done)).toMatchObject({
    type: 'SyndicationCompleted',
    data: {
      responseData: {
        audience_id: 'vip',
        action: 'updated',
        unmatched: { '[member]': ['[member]'] },
        note: REDACTED,
      },
    },
  });
  for (const answer of [
    { outcome: 'refused', message: MESSAGE },
    { outcome: 'retry', message: MESSAGE, afterMs: 0 },
    { outcome: 'completed', ...row({ action: 'failed', errors: [{ message: MESSAGE }] }) },
  ]) {
    const failed: unknown = JSON.parse(await recordedAfter(answer as AgentAnswer));
    expect(failed).toMatchObject({ type: 'SyndicationFailed', data: { errorMessage: REDACTED } });
  }
  await expect(recordedAfter({ outcome: 'retry', message: MESSAGE, afterMs: 0 }, false)).rejects.toThrow(
    REDACTED,
  );
});

const id = fc.string({
  unit: fc.constantFrom('a', 'b', 'C', '1', '-', '.', ':'),
  minLength: 4,
  maxLength: 9,
});

it('every member id is redacted in any text, and nothing else', () => {
  fc.assert(
    fc.property(fc.array(id, { maxLength: 20 }), fc.array(fc.oneof(id, fc.string())), (ids, texts) => {
      const members = ids.map((external_id) => ({ external_id }));
      const text = texts.join('');
      const shown = membersConcealed({ audiences: [{ add: members }] })(text);
      const small = shown.split('[member]').map((piece) => piece.toLowerCase());
      for (const one of ids) for (const piece of small) expect(piece).not.toContain(one.toLowerCase());
      if (!ids.some((one) => text.toLowerCase().includes(one.toLowerCase()))) expect(shown).toBe(text);
    }),
  );
});

it('a text that is too long is not truncated within an id', () => {
  const text = shownText(`${'words '.repeat(80)}${'x'.repeat(12)} ${hash(1)}`);
  expect(text).toBe(`${'words '.repeat(80)}${'x'.repeat(12)} `);
  expect(shownText('x '.repeat(249))).toHaveLength(498);
});
