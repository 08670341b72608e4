import { sleep } from '../../../shared/async/backoff.ts';
import { nextCommand } from './buyer/buyer.ts';
import { emptyClientState, type ClientIdentity } from './buyer/client-state.ts';
import type { Command, Data, Reading } from './command.ts';
import type { History, Operation } from './history.ts';
import type { Random } from './random.ts';

export interface ClientOptions extends ClientIdentity {
  readonly name: string;
  readonly ports: readonly number[];
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

const isUnknown = ({ status }: Answer): boolean => status === 0 || status >= 500;

const outcomeOf = (answer: Answer, { sent }: Command): Operation['outcome'] => {
  if (isUnknown(answer)) return sent === 'once' ? 'unknown' : 'gave-up';
  return answer.status < 300 ? 'ok' : 'refused';
};

const TRIES_MAX = 600;
const ATTEMPT_MS_MAX = 4_000;

/**
 * A buyer that retries. It sends random commands on its own resources, mostly with an idempotency key, to any process
 * until the outcome is definite. As the only writer, except for workers, it can predict each result.
 */
export const runClient = async (options: ClientOptions): Promise<void> => {
  const { random, history, name, customerId, goOn } = options;
  const own = emptyClientState(options);
  const done: Operation[] = [];
  for (let n = 0; goOn(); n++) {
    const key = `${name}-${String(n).padStart(8, '0')}-fault-run`;
    const command = nextCommand(own, key, random);
    const answer = await send(options, key, command);
    const outcome = outcomeOf(answer, command);
    const { status, body, attempts } = answer;
    const operation: Operation = { customerId, command, key, outcome, status, body, attempts };
    history.operations.push(operation);
    if (outcome === 'unknown') command.lost();
    const reading = outcome === 'ok' ? command.done(dataOf(answer)) : undefined;
    if (outcome === 'ok' && command.sent !== 'once') done.push(operation);
    // Repeats any earlier command: its answer must not depend on later commands.
    if (done.length > 0 && random.chance(0.15)) await replay(options, random.pick(done));
    if (done.length > 0 && random.chance(0.05)) await reuse(options, random.pick(done));
    if (reading !== undefined && random.chance(0.3)) await readBack(options, operation, reading);
  }
};

const send = async (
  options: ClientOptions,
  key: string,
  command: Command,
): Promise<Answer & { readonly attempts: number }> =>
  command.sent === 'once'
    ? { ...(await attempt(options, key, command)), attempts: 1 }
    : untilDefinite(options, key, command);

const untilDefinite = async (
  options: ClientOptions,
  key: string,
  command: Request,
): Promise<Answer & { readonly attempts: number }> => {
  let answer: Answer = { status: 0, body: '', code: undefined };
  const seen: string[] = [];
  for (let attempts = 1; attempts <= TRIES_MAX; attempts++) {
    answer = await attempt(options, key, command);
    if (!isUnknown(answer) && answer.code !== 'IDEMPOTENCY_IN_FLIGHT') return { ...answer, attempts };
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

type Request = Pick<Command, 'url' | 'body'> & {
  readonly method: string;
  readonly sent?: Command['sent'];
};

/** @param id the request id, which its events contain */
const attempt = async (
  { ports, apiKey, random }: ClientOptions,
  id: string,
  { method, url, body, sent }: Request,
): Promise<Answer> => {
  const isBytes = body instanceof Uint8Array;
  try {
    const response = await fetch(`http://127.0.0.1:${random.pick(ports)}${url}`, {
      method,
      headers: {
        // The address of an upload is its credential.
        ...(isBytes ? {} : { Authorization: `Bearer ${apiKey}` }),
        'Content-Type': isBytes ? 'application/octet-stream' : 'application/json',
        'X-Request-Id': id,
        ...(sent === 'keyed' ? { 'Idempotency-Key': id } : {}),
      },
      ...(body === undefined ? {} : { body: isBytes ? new Uint8Array(body) : JSON.stringify(body) }),
      signal: AbortSignal.timeout(ATTEMPT_MS_MAX),
    });
    const text = await response.text();
    const { error } = (text === '' ? {} : JSON.parse(text)) as { error?: { code: string } | null };
    return { status: response.status, body: text, code: error?.code };
  } catch {
    return { status: 0, body: '', code: undefined };
  }
};

/** An answer without a body has no data. */
export const dataOf = ({ body }: { readonly body: string }): Data =>
  body === '' ? {} : ((JSON.parse(body) as { data: Data | null }).data ?? {});

const replay = async (options: ClientOptions, { key, command, body, status }: Operation): Promise<void> => {
  const again = await untilDefinite(options, key, command);
  options.history.replays++;
  if (command.isOver?.() === true && again.code === 'CONFLICT') return;
  if (again.status !== status || again.body !== body) {
    options.history.wrongReplays.push(
      `${command.kind} ${key}: ${status} ${body}\n  then ${again.status} ${again.body}`,
    );
  }
};

/** Uses a key for another request. It must not be executed, and must not get the first answer. */
const reuse = async (options: ClientOptions, { key, command }: Operation): Promise<void> => {
  if (command.sent !== 'keyed') return;
  const answer = await untilDefinite(options, key, {
    method: 'POST',
    url: '/api/v2/buyer/advertisers',
    body: { name: `another request with ${key}` },
    sent: 'keyed',
  });
  if (answer.code !== 'IDEMPOTENCY_CONFLICT') {
    options.history.wrongReplays.push(`${key} was used for another request: ${answer.status} ${answer.body}`);
  }
};

/** Only one attempt: a process that cannot answer does not show anything about the data. */
const readBack = async (
  options: ClientOptions,
  { key, command }: Operation,
  { url, shown }: Reading,
): Promise<void> => {
  const answer = await attempt(options, key, { method: 'GET', url });
  if (isUnknown(answer)) return;
  options.history.reads++;
  const data = dataOf(answer);
  const seen = Array.isArray(data) ? (data[0] as Data | undefined) : answer.status === 404 ? undefined : data;
  if (!shows(seen, shown)) {
    options.history.staleReads.push(
      `after ${command.kind}: ${JSON.stringify(shown)}\n  but ${url} reads ${answer.status} ${answer.body}`,
    );
  }
};

const shows = (seen: Data | undefined, wanted: Data | undefined): boolean => {
  if (seen === undefined || wanted === undefined) return seen === wanted;
  return Object.entries(wanted).every(
    ([member, value]) => JSON.stringify(seen[member]) === JSON.stringify(value),
  );
};
