import { describe, expect, it } from '@jest/globals';
import {
  answerOfCall,
  answerOfOwnTask,
  answerOfTask,
  unpacked,
} from '../../command/workers/syndication/agent-answers.ts';
import type { TakenIn } from '../../command/workers/syndication/agent-call.ts';
import { withoutToken } from '../../command/workers/syndication/without-token.ts';

/** Interpretation of agents' answers. */

const taken: TakenIn = { taskId: 'task-1', taskOf: 'ADCP' };
const rows = { event_sources: [{ event_source_id: 'web', action: 'created' }] };
const refused = (message: string) => ({ outcome: 'refused', message });

describe('a call', () => {
  const of = (structuredContent: object | undefined, more: object = {}) =>
    answerOfCall({ structuredContent, ...more } as never, () => 'ADCP');

  it.each(['submitted', 'working'])('answered with %s is taken in by the id in the answer', (status) => {
    expect(of({ status, task_id: 'task-1' })).toEqual({ outcome: 'submitted', ...taken });
  });
  it.each([undefined, '', 'x'.repeat(257), 'a\u0000b', 7])(
    'without an id that is one, %j, it is tried again',
    (task_id) => {
      expect(of({ status: 'submitted', task_id })).toMatchObject({ outcome: 'retry' });
    },
  );
  it('answered with results, with or without a status, is completed', () => {
    expect(of(rows)).toEqual({ outcome: 'completed', data: rows });
    const named = { status: 'completed', ...rows };
    expect(of(named)).toEqual({ outcome: 'completed', data: named });
  });
  it('answered with anything but a JSON object is refused', () => {
    expect(of(undefined, { content: [{ type: 'text', text: 'Hello' }] })).toMatchObject({
      outcome: 'refused',
    });
  });
  it('that needs input is refused: no user can give it', () => {
    expect(of({ status: 'input-required' })).toMatchObject({ outcome: 'refused' });
  });
  it('that failed is tried again unless the agent says that it is final, with its words', () => {
    expect(of({ status: 'failed', message: 'Not today' })).toMatchObject({
      outcome: 'retry',
      message: 'Not today',
    });
    expect(of({ status: 'rejected', error: { message: 'Not us' } })).toMatchObject({ message: 'Not us' });
    const content = [{ type: 'text', text: 'Out of order' }];
    expect(of(undefined, { isError: true, content })).toMatchObject({
      outcome: 'retry',
      message: 'Out of order',
    });
    const adcp_error = { code: 'X', message: 'Never', recovery: 'terminal' };
    expect(of({ adcp_error })).toEqual(refused('Never'));
  });
});

describe("AdCP's tasks/get", () => {
  const of = (structuredContent: object | undefined, more: object = {}) =>
    answerOfTask({ structuredContent, ...more } as never, taken);

  it.each(['submitted', 'working', 'unknown', 'of-a-later-version'])('%s: not finished', (status) => {
    expect(of({ status })).toEqual({ outcome: 'submitted', ...taken });
  });
  it('completed: its result is what the call would have answered', () => {
    expect(of({ status: 'completed', result: rows })).toEqual({ outcome: 'completed', data: rows });
  });
  it('completed without a result: done, and no more is known', () => {
    expect(of({ status: 'completed' })).toEqual({ outcome: 'completed', data: undefined });
  });
  it('completed with errors alone: refused, even when they call themselves transient', () => {
    const errors = [{ code: 'X', message: 'Not now', recovery: 'transient' }];
    expect(of({ status: 'completed', result: { errors } })).toEqual(refused('Not now'));
    expect(of({ status: 'completed', result: { ...rows, errors } })).toMatchObject({ outcome: 'completed' });
  });
  it('failed, canceled, rejected: refused with its words, cut and clean', () => {
    const error = { code: 'X', message: `No\u0007 ${'x'.repeat(600)}` };
    expect(of({ status: 'failed', error })).toEqual(refused(`No  ${'x'.repeat(368)}`));
    expect(of({ status: 'rejected', message: 'Not us' })).toEqual(refused('Not us'));
    expect(of({ status: 'canceled' })).toEqual(refused("The agent's task ended as canceled."));
  });
  it('that asks for input is refused: no user can give it', () => {
    for (const status of ['input-required', 'auth-required']) {
      expect(of({ status })).toMatchObject({ outcome: 'refused' });
    }
  });
  it('that fails itself is asked again, unless its error is final', () => {
    const adcp_error = { code: 'X', message: 'Gone', recovery: 'correctable' };
    expect(of({ adcp_error }, { isError: true })).toEqual(refused('Gone'));
    expect(
      of({ adcp_error: { ...adcp_error, recovery: 'transient', retry_after: 3 } }, { isError: true }),
    ).toEqual({ outcome: 'retry', message: 'Gone', afterMs: 3_000 });
    expect(of(undefined, { isError: true })).toMatchObject({ outcome: 'retry' });
    expect(of({ nothing: true })).toMatchObject({ outcome: 'retry' });
  });
  it('is read from text where there is nothing else', () => {
    const content = [{ type: 'text', text: JSON.stringify({ status: 'completed', result: rows }) }];
    expect(of(undefined, { content })).toEqual({ outcome: 'completed', data: rows });
    expect(of(undefined, { content: [{ type: 'text', text: '{' }] })).toMatchObject({ outcome: 'retry' });
  });
});

it('a token that JSON spells in another way is found in text, too', () => {
  const text = JSON.stringify({ status: 'failed', message: 'no c2VjcmV0/dG9rZW4' }).replaceAll('/', '\\/');
  const said = withoutToken(unpacked({ content: [{ text }] }), 'c2VjcmV0/dG9rZW4');
  expect(answerOfTask(said as never, taken)).toEqual(refused('no [token]'));
});

describe("a task of the protocol's own", () => {
  const own: TakenIn = { taskId: 'a2a-1', taskOf: 'A2A' };
  const of = (structuredContent: object, isError = false) =>
    answerOfOwnTask({ structuredContent, isError } as never, own);

  it('is what the call would have answered', () => {
    expect(of(rows)).toEqual({ outcome: 'completed', data: rows });
    expect(of({ status: 'submitted', task_id: 'a2a-1' })).toEqual({ outcome: 'submitted', ...own });
    const adcp_error = { code: 'X', message: 'Not now', recovery: 'transient' };
    expect(of({ adcp_error }, true)).toEqual(refused('Not now'));
  });
});
