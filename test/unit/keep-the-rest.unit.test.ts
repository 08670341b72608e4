import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { AgentAnswer, AgentCall } from '../../command/workers/syndication/agent-call.ts';
import { loadRecord } from '../../command/workers/syndication/record-steps.ts';
import { TryAgainError } from '../../command/workers/syndication/try-again.ts';
import { keepTheRest } from '../../command/workers/syndication/withdraw.ts';
import { syndicationAggregate, syndicationStream } from '../../domain/syndication/syndication.ts';
import { executeCommand } from '../../shared/aggregate/execute-command.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';

const NOW = '2026-01-01T00:00:00.000Z';
const KEPT = { by: 'the-rest', itemsMax: 1_000, mayBeEmpty: true } as const;
const unavailable: AgentAnswer = { outcome: 'retry', message: 'Unavailable.', afterMs: 0 };
const notKnown = new TryAgainError('not known', { afterMs: 2_000, isTry: false });

/** `x` was switched on and off at an agent that executes each idempotency key once. */
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
    /** How the agent answers the next calls, except polls of a task. Default: immediately. */
    plan: [] as ('task' | 'unknown' | 'immediately')[],
    isAlwaysLater: false,
    lists: [] as string[][],
    keys: [] as string[],
  };
  const answers = new Map<string, AgentAnswer>();
  const tasks = new Map<string, () => void>();
  const done: AgentAnswer = { outcome: 'completed', data: undefined };
  const finish = (): void => {
    for (const end of tasks.values()) end();
    tasks.clear();
  };
  const call = ({ idempotencyKey: key, request, submittedTask }: AgentCall): AgentAnswer => {
    if (submittedTask !== undefined) {
      return tasks.has(submittedTask.taskId) ? { outcome: 'submitted', ...submittedTask } : done;
    }
    const known = answers.get(key);
    if (known !== undefined) return known;
    const items = (request['event_sources'] ?? []) as readonly { readonly event_source_id: string }[];
    const ids = items.map(({ event_source_id }) => event_source_id);
    agent.lists.push(ids);
    agent.keys.push(key);
    const how = agent.plan.shift() ?? (agent.isAlwaysLater ? 'task' : 'immediately');
    const end = (): void => void (agent.has = new Set(ids));
    if (how === 'task') tasks.set(key, end);
    else end();
    const answer: AgentAnswer = how === 'task' ? { outcome: 'submitted', taskId: key, taskOf: 'ADCP' } : done;
    answers.set(key, answer);
    return how === 'unknown' ? unavailable : answer;
  };

  /** @param reads what each read of the remaining resources returns, then the last one; undefined: not known */
  const run = async (...reads: readonly (readonly string[] | undefined)[]) => {
    let read = 0;
    const options = {
      store,
      clock: { now: () => Date.parse(NOW) },
      secrets: {},
      atAgents: {
        kept: async () => {
          const kept = reads[Math.min(read++, reads.length - 1)];
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

describe('a list that equals an earlier one', () => {
  it('is sent again if the agent accepted another list meanwhile', async () => {
    const { agent, run, finish } = await given();
    agent.plan.push('task', 'task');
    expect(await run([])).toBe('waits');
    finish();
    expect(await run(['y'])).toBe('waits');
    // `y` is switched off and deleted at once; the list that is still in progress adds it again.
    agent.has.delete('y');
    finish();
    expect(agent.has).toEqual(new Set(['y']));
    expect(await run([])).toBe('over');
    expect({ has: agent.has, lists: agent.lists }).toEqual({ has: new Set(), lists: [[], ['y'], []] });
  });

  it.each([
    ['another list was sent meanwhile, by a run that was interrupted', ['immediately'], [[], ['y'], []]],
    ['the outcome of another list is unknown', ['unknown'], [[], ['y'], []]],
  ] as const)('is sent again if %s', async (_what, how, lists) => {
    const { agent, run, finish } = await given();
    agent.plan.push('task', ...how);
    expect(await run([])).toBe('waits');
    finish();
    expect(await run([], ['y'], undefined)).not.toBe('over');
    expect(await run([])).toBe('over');
    expect({ has: agent.has, lists: agent.lists }).toEqual({ has: new Set(), lists });
  });

  it('is not sent again if the agent accepted it last, even if the agent finishes it later', async () => {
    const { agent, run, finish } = await given();
    agent.isAlwaysLater = true;
    for (let n = 0; n < 3; n++) expect(await run(['y'])).toBe('waits');
    finish();
    expect(await run(['y'])).toBe('over');
    expect({ has: agent.has, lists: agent.lists }).toEqual({ has: new Set(['y']), lists: [['y']] });
  });

  it('is sent again under another key after a call with an unknown outcome', async () => {
    const { agent, run } = await given();
    agent.plan.push('unknown');
    expect(await run(['y'])).toBe('failed');
    agent.has.add('z');
    expect(await run(['y'])).toBe('over');
    expect(agent.has).toEqual(new Set(['y']));
    expect(new Set(agent.keys).size).toBe(2);
  });
});
