import { describe, expect, it } from '@jest/globals';
import type { AgentAnswer, AgentCall, SubmittedTask } from '../../command/workers/syndication/agent-call.ts';
import {
  askAgent,
  awaitEarlier,
  type FinalAnswer,
  type Question,
} from '../../command/workers/syndication/ask-agent.ts';
import { TryAgainError } from '../../command/workers/syndication/try-again.ts';
import type { SubmittedCall } from '../../domain/syndication/resource.ts';

const HOUR = 3_600_000;
const SUBMITTED_AT = '2026-01-01T00:00:00.000Z';
const account = { account_id: 'acct' };
const request = { account, event_sources: [{ event_source_id: 'web' }] };
const taken: SubmittedTask = { taskId: 'task-1', taskOf: 'ADCP' };
const done: AgentAnswer = { outcome: 'completed', data: { event_sources: [] } };
const notYet: AgentAnswer = { outcome: 'submitted', ...taken };
const unavailable: AgentAnswer = { outcome: 'retry', message: 'Unavailable.', afterMs: 0 };
const submitted: SubmittedCall = {
  ...taken,
  generation: 2,
  idempotencyKey: 'key-2',
  submittedAt: SUBMITTED_AT,
};

interface Outcome {
  readonly calls: readonly { readonly key: string; readonly submittedTask: SubmittedTask | undefined }[];
  readonly recorded: readonly SubmittedTask[];
  readonly answer: FinalAnswer | undefined;
  /** Milliseconds; undefined when the job was not postponed. */
  readonly laterMs: number | undefined;
  readonly holdMs: number | undefined;
}

/** @param isEarlier only waits for a call of an earlier generation */
const ask = async (
  answers: readonly AgentAnswer[],
  {
    of,
    afterMs = 0,
    isEarlier = false,
    signal = new AbortController().signal,
  }: { of?: SubmittedCall; afterMs?: number; isEarlier?: boolean; signal?: AbortSignal } = {},
): Promise<Outcome> => {
  const calls: { key: string; submittedTask: SubmittedTask | undefined }[] = [];
  const recorded: SubmittedTask[] = [];
  const options = {
    clock: { now: () => Date.parse(SUBMITTED_AT) + afterMs },
    secrets: { get: async () => 'token' },
    callAgent: async ({ idempotencyKey, submittedTask }: AgentCall) => {
      calls.push({ key: idempotencyKey, submittedTask });
      const answer = answers[calls.length - 1];
      if (answer === undefined) throw new Error('asked too often');
      return answer;
    },
  };
  const question = {
    record: { customerId: 1, recordId: 'r', generation: 2, account, submitted: of },
    kind: { task: 'sync_event_sources' },
    agent: { customerId: 1, url: 'https://agent.example.com/mcp', protocol: 'MCP', secretId: 's' },
    run: { isLastAttempt: true, signal },
  } as unknown as Question;
  const asking = isEarlier
    ? awaitEarlier(options as never, question).then(() => undefined)
    : askAgent(
        options as never,
        question,
        { request, idempotencyKey: 'key-2' },
        async (one) => void recorded.push(one),
      );
  let laterMs: number | undefined;
  let holdMs: number | undefined;
  const answer = await asking.catch((error: unknown) => {
    if (!(error instanceof TryAgainError) || error.result.isTry) throw error;
    ({ afterMs: laterMs, holdMs } = error.result);
    return undefined;
  });
  return { calls, recorded, answer, laterMs, holdMs };
};

describe('an immediate answer', () => {
  it('is ignored if the run was aborted, unless the agent has finished', async () => {
    const signal = AbortSignal.abort();
    await expect(ask([unavailable], { signal })).rejects.toThrow(TryAgainError);
    await expect(ask([unavailable], { signal, of: submitted })).rejects.toThrow(TryAgainError);
    expect(await ask([done], { signal })).toMatchObject({ answer: done });
  });
  it('is returned, and nothing is recorded', async () => {
    for (const answer of [done, unavailable, { outcome: 'refused', message: 'No.' } as const]) {
      expect(await ask([answer])).toMatchObject({ answer, recorded: [], laterMs: undefined });
    }
  });
});

describe('a call that the agent accepts and finishes later', () => {
  it('is recorded, and the job is postponed', async () => {
    const asked = await ask([notYet, notYet]);
    expect(asked).toMatchObject({ recorded: [taken], answer: undefined, laterMs: 2_000 });
  });
  it('is not recorded if it is already completed', async () => {
    expect(await ask([notYet, done])).toMatchObject({ recorded: [], answer: done, laterMs: undefined });
  });
  it('is then polled by its task id and never called again', async () => {
    const asked = await ask([done], { of: submitted });
    expect(asked.calls).toEqual([{ key: 'key-2', submittedTask: expect.objectContaining(taken) }]);
    expect(asked).toMatchObject({ answer: done, recorded: [] });
  });
  it.each([
    ['a moment', 100, 2_000],
    ['20 seconds', 19_999, 10_000],
    ['10 hours', 10 * HOUR, 60_000],
  ])('after %s is polled again after half of that time, within limits', async (_what, afterMs, laterMs) => {
    expect(await ask([notYet], { of: submitted, afterMs })).toMatchObject({ laterMs });
  });
  it('is polled while the agent is unavailable, also on the last attempt of its job', async () => {
    expect(await ask([unavailable], { of: submitted, afterMs: HOUR })).toMatchObject({
      laterMs: 60_000,
      holdMs: 0,
    });
    const busy: AgentAnswer = { outcome: 'retry', message: 'Busy.', afterMs: 600_000 };
    expect(await ask([busy], { of: submitted, afterMs: HOUR })).toMatchObject({
      laterMs: 600_000,
      holdMs: 600_000,
    });
  });
  it('is refused after a day, unless it is completed by then', async () => {
    const afterMs = 24 * HOUR;
    expect((await ask([notYet], { of: submitted, afterMs })).answer).toEqual({
      outcome: 'refused',
      message: 'The agent has not finished this within 24 hours.',
    });
    expect((await ask([unavailable], { of: submitted, afterMs })).answer).toEqual({
      outcome: 'refused',
      message: 'The agent has not finished this within 24 hours. Asked once more: Unavailable.',
    });
    expect((await ask([done], { of: submitted, afterMs })).answer).toEqual(done);
  });
});

describe('another call in progress at the agent', () => {
  const earlier = { ...submitted, generation: 1, idempotencyKey: 'key-1' };

  it('ends before a later generation makes a request', async () => {
    expect(await ask([notYet], { of: earlier, isEarlier: true })).toMatchObject({
      calls: [{ key: 'key-1' }],
      laterMs: 2_000,
    });
    for (const end of [done, { outcome: 'refused', message: 'Gone.' } as const]) {
      expect(await ask([end], { of: earlier, isEarlier: true })).toMatchObject({ laterMs: undefined });
    }
    expect(await ask([notYet], { of: earlier, isEarlier: true, afterMs: 24 * HOUR })).toMatchObject({
      laterMs: undefined,
    });
  });
  it('is not awaited if it belongs to the same generation', async () => {
    expect(await ask([], { of: submitted, isEarlier: true })).toMatchObject({ calls: [] });
  });
  it('ends before another call of the same generation', async () => {
    const other = { ...submitted, idempotencyKey: 'another-key' };
    expect(await ask([notYet], { of: other })).toMatchObject({
      calls: [{ key: 'another-key' }],
      laterMs: 2_000,
    });
    const asked = await ask([done, done], { of: other });
    expect(asked.calls).toEqual([
      { key: 'another-key', submittedTask: expect.objectContaining(taken) },
      { key: 'key-2', submittedTask: undefined },
    ]);
  });
});
