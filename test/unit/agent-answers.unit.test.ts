import { describe, expect, it } from '@jest/globals';
import {
  answerOfCall,
  answerOfOwnTask,
  answerOfTask,
  unpacked,
} from '../../command/workers/syndication/agent-answers.ts';
import type { SubmittedTask } from '../../command/workers/syndication/agent-call.ts';
import { withoutToken } from '../../command/workers/syndication/without-token.ts';

const taken: SubmittedTask = { taskId: 'task-1', taskOf: 'ADCP' };
const rows = { event_sources: [{ event_source_id: 'web', action: 'created' }] };
const refused = (message: string) => ({ outcome: 'refused', message });

describe('a call', () => {
  const answerTo = (structuredContent: object | undefined, more: object = {}) =>
    answerOfCall({ structuredContent, ...more } as never, () => 'ADCP');

  it.each(['submitted', 'working'])(
    'answered with %s is accepted under the task id in the answer',
    (status) => {
      expect(answerTo({ status, task_id: 'task-1' })).toEqual({ outcome: 'submitted', ...taken });
    },
  );
  it.each([undefined, '', 'x'.repeat(257), 'a\u0000b', 7])(
    'is retried if the task id is not valid: %j',
    (task_id) => {
      expect(answerTo({ status: 'submitted', task_id })).toMatchObject({ outcome: 'retry' });
    },
  );
  it('answered with results, with or without a status, is completed', () => {
    expect(answerTo(rows)).toEqual({ outcome: 'completed', data: rows });
    const named = { status: 'completed', ...rows };
    expect(answerTo(named)).toEqual({ outcome: 'completed', data: named });
  });
  it('answered without a JSON object is refused', () => {
    expect(answerTo(undefined, { content: [{ type: 'text', text: 'Hello' }] })).toMatchObject({
      outcome: 'refused',
    });
  });
  it('whose agent asks for input is refused, because no user can give it', () => {
    expect(answerTo({ status: 'input-required' })).toMatchObject({ outcome: 'refused' });
  });
  it("that failed is retried with the agent's message, unless the agent declares the failure final", () => {
    expect(answerTo({ status: 'failed', message: 'Not today' })).toMatchObject({
      outcome: 'retry',
      message: 'Not today',
    });
    expect(answerTo({ status: 'rejected', error: { message: 'Not us' } })).toMatchObject({
      message: 'Not us',
    });
    const content = [{ type: 'text', text: 'Out of order' }];
    expect(answerTo(undefined, { isError: true, content })).toMatchObject({
      outcome: 'retry',
      message: 'Out of order',
    });
    const adcp_error = { code: 'X', message: 'Never', recovery: 'terminal' };
    expect(answerTo({ adcp_error })).toEqual({ ...refused('Never'), code: 'X' });
    const noCode = { code: '<b>X</b>', message: 'Never', recovery: 'terminal' };
    expect(answerTo({ adcp_error: noCode })).toEqual(refused('Never'));
  });
});

describe("AdCP's tasks/get", () => {
  const answerTo = (structuredContent: object | undefined, more: object = {}) =>
    answerOfTask({ structuredContent, ...more } as never, taken);

  it.each(['submitted', 'working', 'unknown', 'of-a-later-version'])('%s means not finished', (status) => {
    expect(answerTo({ status })).toEqual({ outcome: 'submitted', ...taken });
  });
  it('completed: the result equals an immediate answer to the call', () => {
    expect(answerTo({ status: 'completed', result: rows })).toEqual({ outcome: 'completed', data: rows });
  });
  it('completed without a result: the answer has no data', () => {
    expect(answerTo({ status: 'completed' })).toEqual({ outcome: 'completed', data: undefined });
  });
  it('completed with only errors: refused, even if the errors are transient', () => {
    const errors = [{ code: 'X', message: 'Not now', recovery: 'transient' }];
    expect(answerTo({ status: 'completed', result: { errors } })).toEqual(refused('Not now'));
    expect(answerTo({ status: 'completed', result: { ...rows, errors } })).toMatchObject({
      outcome: 'completed',
    });
  });
  it("failed, canceled or rejected: refused with the agent's message, truncated and without control characters", () => {
    const error = { code: 'X', message: `No\u0007 ${'x'.repeat(600)}` };
    expect(answerTo({ status: 'failed', error })).toEqual(refused(`No  ${'x'.repeat(368)}`));
    expect(answerTo({ status: 'rejected', message: 'Not us' })).toEqual(refused('Not us'));
    expect(answerTo({ status: 'canceled' })).toEqual(refused("The agent's task ended as canceled."));
  });
  it('asking for input: refused, because no user can give it', () => {
    for (const status of ['input-required', 'auth-required']) {
      expect(answerTo({ status })).toMatchObject({ outcome: 'refused' });
    }
  });
  it('that itself fails is retried, unless its error is final', () => {
    const adcp_error = { code: 'X', message: 'Gone', recovery: 'correctable' };
    expect(answerTo({ adcp_error }, { isError: true })).toEqual({ ...refused('Gone'), code: 'X' });
    expect(
      answerTo({ adcp_error: { ...adcp_error, recovery: 'transient', retry_after: 3 } }, { isError: true }),
    ).toEqual({ outcome: 'retry', message: 'Gone', afterMs: 3_000, code: 'X' });
    expect(answerTo(undefined, { isError: true })).toMatchObject({ outcome: 'retry' });
    expect(answerTo({ nothing: true })).toMatchObject({ outcome: 'retry' });
  });
  it('is read from the text content if the answer has no structured content', () => {
    const content = [{ type: 'text', text: JSON.stringify({ status: 'completed', result: rows }) }];
    expect(answerTo(undefined, { content })).toEqual({ outcome: 'completed', data: rows });
    expect(answerTo(undefined, { content: [{ type: 'text', text: '{' }] })).toMatchObject({
      outcome: 'retry',
    });
  });
});

it('a token is removed from text content even if JSON escapes it differently', () => {
  const text = JSON.stringify({ status: 'failed', message: 'no c2VjcmV0/dG9rZW4' }).replaceAll('/', '\\/');
  const cleaned = withoutToken(unpacked({ content: [{ text }] }), 'c2VjcmV0/dG9rZW4');
  expect(answerOfTask(cleaned as never, taken)).toEqual(refused('no [token]'));
});

describe('a task of the protocol itself', () => {
  const own: SubmittedTask = { taskId: 'a2a-1', taskOf: 'A2A' };
  const answerTo = (structuredContent: object, isError = false) =>
    answerOfOwnTask({ structuredContent, isError } as never, own);

  it('gives the same answer as the call', () => {
    expect(answerTo(rows)).toEqual({ outcome: 'completed', data: rows });
    expect(answerTo({ status: 'submitted', task_id: 'a2a-1' })).toEqual({ outcome: 'submitted', ...own });
    const adcp_error = { code: 'X', message: 'Not now', recovery: 'transient' };
    expect(answerTo({ adcp_error }, true)).toEqual(refused('Not now'));
  });
});
