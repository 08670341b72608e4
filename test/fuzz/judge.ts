import { sleep } from '../../shared/async/backoff.ts';
import { createAnswerRules, type AnswerRules } from './check-answer.ts';
import { refusedProblems } from './check-refused.ts';
import { curlOf, type WireRequest } from './draft.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import type { KnownIds } from './known-ids.ts';
import { rawRequestOf, type RawCase } from './raw-requests.ts';
import type { Operation } from './read-operations.ts';
import { sendRaw } from './send-raw.ts';
import { createSender, type Answer, type SendRequest } from './send-request.ts';
import type { Tally } from './tally.ts';

const ANSWER_MS_MAX = 2_000;
/** A slow request is repeated alone this many times. It counts only if every answer is slow. */
const SLOW_TRIES = 5;
const SLOW_PAUSE_MS = 500;

export interface Verdict {
  readonly answer?: Answer;
  readonly problem: string | undefined;
}

export const throwIfBad = ({ problem }: Verdict): void => {
  if (problem !== undefined) throw new Error(problem);
};

export interface Judge {
  readonly stalls: number;
  request(operation: Operation, kind: 'valid' | 'malformed', wire: WireRequest): Promise<Verdict>;
  raw(one: RawCase, known: KnownIds): Promise<Verdict>;
  close(): void;
}

interface JudgeOptions {
  readonly target: FuzzTarget;
  readonly secrets: readonly string[];
  readonly refused?: string;
}

/** Sends requests, and reports the problems of each answer and of the service after it. */
export const createJudge = (
  { target, secrets, refused }: JudgeOptions,
  operations: readonly Operation[],
  tally: Tally,
): Judge => {
  const rules = createAnswerRules(operations, secrets);
  const sender = createSender();
  const slowness = createSlowness();

  const askTarget = async (): Promise<readonly string[]> => {
    const report = await target.ask('report');
    if ('ended' in report) return [report.ended];
    return [...report.polluted.map((member) => `${member} is polluted`), ...report.problems];
  };
  const describeProblem = (
    problems: readonly string[],
    request: string,
    answer: string,
  ): string | undefined =>
    problems.length === 0
      ? undefined
      : `${problems.join('; ')}\n${request}\n${answer}\nthe service printed: ${target.output().slice(-1_500) || 'nothing'}`;

  return {
    get stalls() {
      return slowness.stalls;
    },
    request: async (operation, kind, wire) => {
      const answer = await sender.send(wire, target.port);
      const ofTarget = await askTarget();
      if ('failure' in answer) {
        return {
          problem: describeProblem([answer.failure, ...ofTarget], curlOf(wire, target.baseUrl), 'no answer'),
        };
      }
      tally.count(operation, kind, answer.status, answer.tookMs);
      const slow =
        answer.tookMs > ANSWER_MS_MAX
          ? await slowness.isSlowAgain(() => timeOf(sender.send, wire, target.port))
          : [];
      const ofLimits = refusedProblems(answer, addressOf(wire), refused);
      const problems = [...rules.problemsOf(wire, answer), ...ofLimits, ...slow, ...ofTarget];
      const shown = `${answer.status} ${answer.text.slice(0, 1_000)}`;
      return { answer, problem: describeProblem(problems, curlOf(wire, target.baseUrl), shown) };
    },
    raw: async (one, known) => {
      const raw = rawRequestOf(one, known);
      const { answers, tookMs, failure } = await sendRaw(raw, target.port);
      tally.count(one.valid.operation, 'raw', answers[0]?.status ?? 0, tookMs);
      const slow =
        tookMs > ANSWER_MS_MAX
          ? await slowness.isSlowAgain(async () => (await sendRaw(raw, target.port)).tookMs)
          : [];
      const problems = [
        ...(failure === undefined ? [] : [failure]),
        ...rawProblems(rules, one, answers, raw.requests),
        ...slow,
        ...(await askTarget()),
      ];
      const written = raw.writes
        .map((piece) => JSON.stringify(piece.toString('latin1').slice(0, 3_000)))
        .join(' + ');
      return {
        problem: describeProblem(
          problems,
          `written to the socket: ${written}`,
          JSON.stringify(answers).slice(0, 1_000),
        ),
      };
    },
    close: () => sender.close(),
  };
};

/** After the answers to the requests, only one refusal of unreadable bytes may follow. */
const rawProblems = (
  rules: AnswerRules,
  { valid: { operation } }: RawCase,
  answers: Awaited<ReturnType<typeof sendRaw>>['answers'],
  requests: number,
): readonly string[] => [
  ...answers.flatMap(({ status, headers, body }) =>
    rules.problemsOf({ method: operation.method, path: undefined }, { status, headers, text: body }),
  ),
  ...answers
    .slice(requests)
    .flatMap(({ status }) => (status >= 400 ? [] : [`unexpected additional answer: ${status}`])),
];

/** The client address in a request. */
const addressOf = ({ headers }: WireRequest): string | undefined =>
  headers.find(([name]) => name === 'X-Forwarded-For')?.[1].join();

const timeOf = async (send: SendRequest, wire: WireRequest, port: number): Promise<number> => {
  const answer = await send(wire, port);
  return 'failure' in answer ? Infinity : answer.tookMs;
};

/** Repeats a slow request, alone, to distinguish it from a busy machine. */
const createSlowness = () => {
  let stalls = 0;
  return {
    get stalls() {
      return stalls;
    },
    isSlowAgain: async (again: () => Promise<number>): Promise<readonly string[]> => {
      for (let tries = 0; tries < SLOW_TRIES; tries++) {
        await sleep(SLOW_PAUSE_MS);
        if ((await again()) <= ANSWER_MS_MAX) {
          stalls += 1;
          return [];
        }
      }
      return [`slower than ${ANSWER_MS_MAX} ms, ${SLOW_TRIES + 1} times in succession`];
    },
  };
};
