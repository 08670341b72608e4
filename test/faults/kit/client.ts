import { sleep } from '../../../src/shared/backoff.ts';
import type { History, Operation } from './history.ts';
import type { Random } from './random.ts';

export interface ClientOptions {
  readonly name: string;
  readonly ports: readonly number[];
  readonly customerId: number;
  readonly apiKey: string;
  readonly random: Random;
  readonly history: History;
  /** False: stop after the current operation. */
  readonly goOn: () => boolean;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly code: string | undefined;
}

interface Own {
  readonly id: number;
  status: 'ACTIVE' | 'ARCHIVED';
  /** `data` of the last acknowledged answer that has one. */
  data: string;
}

/** `a a b` as `2 a, 1 b`. */
const runsOf = (codes: readonly string[]): string => {
  const runs: { code: string; times: number }[] = [];
  for (const code of codes) {
    const last = runs.at(-1);
    if (last?.code === code) last.times++;
    else runs.push({ code, times: 1 });
  }
  return runs.map(({ code, times }) => `${times} ${code}`).join(', ');
};

const outcomeOf = ({ status }: Answer): Operation['outcome'] =>
  status === 0 || status >= 500 ? 'gave-up' : status < 300 ? 'ok' : 'refused';

const TRIES_MAX = 600;
const ATTEMPT_MS_MAX = 4_000;
const path = '/api/v2/buyer/advertisers';

/**
 * A buyer who retries: random commands on advertisers of its own, each with an idempotency key, sent to any
 * process until the outcome is definite. Being the only one to write them, it knows what each must look like.
 */
export const runClient = async (options: ClientOptions): Promise<void> => {
  const { random, history, name, customerId, goOn } = options;
  const own: Own[] = [];
  const done: Repeatable[] = [];
  for (let n = 0; goOn(); n++) {
    const key = `${name}-${String(n).padStart(8, '0')}-fault-run`;
    const target = own.length === 0 || random.chance(0.3) ? undefined : random.pick(own);
    const { kind, method, url, body, expected } = choose(target, key, random);
    const answer = await untilDefinite(options, key, method, url, body);
    const operation: Operation = {
      customerId,
      kind,
      key,
      advertiserId: target?.id ?? (outcomeOf(answer) === 'ok' ? idIn(answer.body) : 0),
      outcome: outcomeOf(answer),
      expected,
      status: answer.status,
      body: answer.body,
      attempts: answer.attempts,
    };
    history.operations.push(operation);
    remember(own, target, operation);
    if (operation.outcome === 'ok') done.push({ operation, method, url, body });
    // Any earlier one: its answer must not have changed with what came after it.
    if (done.length > 0 && random.chance(0.15)) await replay(options, random.pick(done));
    if (done.length > 0 && random.chance(0.05)) await reuse(options, random.pick(done));
    const read = random.chance(0.3) ? own.find(({ id }) => id === operation.advertiserId) : undefined;
    if (read !== undefined) await readBack(options, read);
  }
};

const choose = (target: Own | undefined, key: string, random: Random) => {
  if (target === undefined)
    return { kind: 'create', method: 'POST', url: path, body: { name: key }, expected: 'ok' } as const;
  const url = `${path}/${target.id}`;
  // Now and then something that must be refused.
  const wrong = random.chance(0.05);
  const expected = wrong ? 'refused' : 'ok';
  if ((target.status === 'ARCHIVED') !== wrong) {
    return { kind: 'restore', method: 'POST', url: `${url}/restore`, body: undefined, expected } as const;
  }
  if (random.chance(0.25) && !wrong)
    return { kind: 'archive', method: 'DELETE', url, body: undefined, expected } as const;
  return { kind: 'update', method: 'PUT', url, body: { name: key }, expected } as const;
};

const untilDefinite = async (
  options: ClientOptions,
  key: string,
  method: string,
  url: string,
  body: object | undefined,
): Promise<Answer & { readonly attempts: number }> => {
  let answer: Answer = { status: 0, body: '', code: undefined };
  const seen: string[] = [];
  for (let attempts = 1; attempts <= TRIES_MAX; attempts++) {
    answer = await attempt(options, key, method, url, body);
    const isUnknown = answer.status === 0 || answer.status >= 500 || answer.code === 'IDEMPOTENCY_IN_FLIGHT';
    if (!isUnknown) return { ...answer, attempts };
    seen.push(answer.code ?? String(answer.status));
    await sleep(20 + options.random.below(200));
  }
  return {
    status: 0,
    body: `gave up after ${runsOf(seen)}`,
    code: undefined,
    attempts: TRIES_MAX,
  };
};

const attempt = async (
  { ports, apiKey, random }: ClientOptions,
  key: string | undefined,
  method: string,
  url: string,
  body?: object,
): Promise<Answer> => {
  try {
    const response = await fetch(`http://127.0.0.1:${random.pick(ports)}${url}`, {
      method,
      headers: {
        Authorization: `Bearer ${apiKey}`,
        'Content-Type': 'application/json',
        ...(key === undefined ? {} : { 'Idempotency-Key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ATTEMPT_MS_MAX),
    });
    const text = await response.text();
    const { error } = (text === '' ? {} : JSON.parse(text)) as { error?: { code: string } | null };
    return { status: response.status, body: text, code: error?.code };
  } catch {
    return { status: 0, body: '', code: undefined };
  }
};

const idIn = (body: string): number =>
  body === '' ? 0 : ((JSON.parse(body) as { data: { id: number } | null }).data?.id ?? 0);

const remember = (own: Own[], target: Own | undefined, { kind, outcome, body }: Operation): void => {
  if (outcome !== 'ok') return;
  if (kind === 'create') own.push({ id: idIn(body), status: 'ACTIVE', data: body });
  else if (target !== undefined) {
    if (kind === 'archive') target.status = 'ARCHIVED';
    else target.data = body;
    if (kind === 'restore') target.status = 'ACTIVE';
  }
};

interface Repeatable {
  readonly operation: Operation;
  readonly method: string;
  readonly url: string;
  readonly body: object | undefined;
}

const replay = async (
  options: ClientOptions,
  { operation: { key, body, status }, method, url, body: sent }: Repeatable,
): Promise<void> => {
  const again = await untilDefinite(options, key, method, url, sent);
  options.history.replays++;
  if (again.status !== status || again.body !== body) {
    options.history.wrongReplays.push(`${key}: ${status} ${body}\n  then ${again.status} ${again.body}`);
  }
};

/** The key of one request for another: never done, and never answered with the first one's answer. */
const reuse = async (options: ClientOptions, { operation: { key } }: Repeatable): Promise<void> => {
  const answer = await untilDefinite(options, key, 'POST', path, { name: `another request with ${key}` });
  if (answer.code !== 'IDEMPOTENCY_CONFLICT') {
    options.history.wrongReplays.push(`${key} was used for another request: ${answer.status} ${answer.body}`);
  }
};

/** One attempt only: a process that cannot answer says nothing about the data. */
const readBack = async (options: ClientOptions, { id, status, data }: Own): Promise<void> => {
  const answer = await attempt(options, undefined, 'GET', `${path}/${id}`);
  if (answer.status === 0 || answer.status >= 500) return;
  options.history.reads++;
  const isRight =
    answer.status === 200 &&
    (status === 'ACTIVE' ? answer.body === data : answer.body.includes('"status":"ARCHIVED"'));
  if (!isRight)
    options.history.staleReads.push(
      `${id} is ${status}: ${data}\n  but reads ${answer.status} ${answer.body}`,
    );
};
