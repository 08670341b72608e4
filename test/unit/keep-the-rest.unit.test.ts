import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { AgentAnswer, AgentCall } from '../../command/workers/syndication/agent-call.ts';
import { loadRecord } from '../../command/workers/syndication/record-steps.ts';
import { TryAgainError } from '../../command/workers/syndication/try-again.ts';
import { keepTheRest } from '../../command/workers/syndication/withdraw.ts';
import { syndicationAggregate, syndicationStream } from '../../domain/syndication/syndication.ts';
import { executeCommand } from '../../shared/aggregate/execute-command.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';

/** An agent is told all that stays, and nothing else, until that is so there. */

const NOW = '2026-01-01T00:00:00.000Z';
const KEPT = { by: 'the-rest', itemsMax: 1_000, mayBeEmpty: true } as const;
const away: AgentAnswer = { outcome: 'retry', message: 'It is away.', afterMs: 0 };
const notKnown = new TryAgainError('not known', { afterMs: 2_000, isTry: false });

/** X was switched on and off at an agent that does each key once. */
const given = async () => {
  const store = createMemoryEventStore();
  const [recordId, agentId] = [randomUUID(), randomUUID()];
  const account = { account_id: 'acct' };
  const record = {
    recordId,
    customerId: 1,
    advertiserId: 2,
    resourceType: 'EVENT_SOURCE',
    resourceId: 'x',
    agentId,
    account,
  } as const;
  const stream = syndicationStream(1, recordId);
  const context = { customerId: 1, actor: 'test', requestId: agentId };
  const type = syndicationAggregate;
  for (const command of [
    { type: 'ToggleSyndication', now: NOW, record, enabled: true },
    { type: 'StartSyndication', now: NOW, generation: 1, request: { account } },
    { type: 'ToggleSyndication', now: NOW, record, enabled: false },
  ] as const) {
    await executeCommand(store, type, { stream, command, context: { ...context, commandId: randomUUID() } });
  }

  const agent = {
    has: new Set(['x']),
    /** How the next calls are answered that are not asked after a task; then at once. */
    plan: [] as ('task' | 'unknown' | 'at once')[],
    isAlwaysLater: false,
    told: [] as string[][],
    keys: [] as string[],
  };
  const answers = new Map<string, AgentAnswer>();
  const tasks = new Map<string, () => void>();
  const done: AgentAnswer = { outcome: 'completed', data: undefined };
  const finish = (): void => {
    for (const end of tasks.values()) end();
    tasks.clear();
  };
  const call = ({ idempotencyKey: key, request, takenIn }: AgentCall): AgentAnswer => {
    if (takenIn !== undefined) return tasks.has(takenIn.taskId) ? { outcome: 'submitted', ...takenIn } : done;
    const known = answers.get(key);
    if (known !== undefined) return known;
    const items = (request['event_sources'] ?? []) as readonly { readonly event_source_id: string }[];
    const ids = items.map(({ event_source_id }) => event_source_id);
    agent.told.push(ids);
    agent.keys.push(key);
    const how = agent.plan.shift() ?? (agent.isAlwaysLater ? 'task' : 'at once');
    const end = (): void => void (agent.has = new Set(ids));
    if (how === 'task') tasks.set(key, end);
    else end();
    const answer: AgentAnswer = how === 'task' ? { outcome: 'submitted', taskId: key, taskOf: 'ADCP' } : done;
    answers.set(key, answer);
    return how === 'unknown' ? away : answer;
  };

  /** What is to stay at each look; the last of them from then on. Undefined: not known now. */
  const run = async (...looks: readonly (readonly string[] | undefined)[]) => {
    let look = 0;
    const options = {
      store,
      clock: { now: () => Date.parse(NOW) },
      secrets: {},
      atAgents: {
        kept: async () => {
          const kept = looks[Math.min(look++, looks.length - 1)];
          if (kept === undefined) throw notKnown;
          return kept.map((resourceId) => ({ advertiserId: 2, resourceId, hasFailed: false }));
        },
      },
      callAgent: async (asked: AgentCall) => call(asked),
    };
    const loaded = await loadRecord({ store }, record);
    const question = {
      record: loaded?.record,
      kind: {
        task: 'sync_event_sources',
        itemsMember: 'event_sources',
        idMember: 'event_source_id',
        load: async ({ resourceId }: { resourceId: string }) => ({
          item: { event_source_id: resourceId },
          revision: 0,
        }),
        inFull: async (_resource: unknown, item: unknown) => item,
      },
      agent: { customerId: 1, url: 'https://agent.example.com/mcp', protocol: 'MCP' },
      run: { attempt: 1, isLastAttempt: false, signal: new AbortController().signal },
    };
    return keepTheRest(options as never, question as never, KEPT).then(
      () => 'over',
      (error: unknown) => {
        if (error instanceof TryAgainError) return error.result.isTry ? 'failed' : 'waits';
        throw error;
      },
    );
  };
  return { agent, run, finish };
};

describe('a list that is the same again', () => {
  it('is told again when another was taken in meanwhile, although nothing was ever tried in vain', async () => {
    const { agent, run, finish } = await given();
    agent.plan.push('task', 'task');
    expect(await run([])).toBe('waits');
    finish();
    expect(await run(['y'])).toBe('waits');
    // Y is switched off, and dropped at once; what is under way here brings it back.
    agent.has.delete('y');
    finish();
    expect(agent.has).toEqual(new Set(['y']));
    expect(await run([])).toBe('over');
    expect({ has: agent.has, told: agent.told }).toEqual({ has: new Set(), told: [[], ['y'], []] });
  });

  it.each([
    ['another was told meanwhile, by a run that ended half way', ['at once'], [[], ['y'], []]],
    ['nobody knows what became of the other', ['unknown'], [[], ['y'], []]],
  ] as const)('is told again when %s', async (_what, how, told) => {
    const { agent, run, finish } = await given();
    agent.plan.push('task', ...how);
    expect(await run([])).toBe('waits');
    finish();
    expect(await run([], ['y'], undefined)).not.toBe('over');
    expect(await run([])).toBe('over');
    expect({ has: agent.has, told: agent.told }).toEqual({ has: new Set(), told });
  });

  it('is not told again while it is what was taken in last: an agent that finishes all later is told once', async () => {
    const { agent, run, finish } = await given();
    agent.isAlwaysLater = true;
    for (let n = 0; n < 3; n++) expect(await run(['y'])).toBe('waits');
    finish();
    expect(await run(['y'])).toBe('over');
    expect({ has: agent.has, told: agent.told }).toEqual({ has: new Set(['y']), told: [['y']] });
  });

  it('is told again after a call of which nobody knows what became, under another key', async () => {
    const { agent, run } = await given();
    agent.plan.push('unknown');
    expect(await run(['y'])).toBe('failed');
    agent.has.add('z');
    expect(await run(['y'])).toBe('over');
    expect(agent.has).toEqual(new Set(['y']));
    expect(new Set(agent.keys).size).toBe(2);
  });
});
