import fc from 'fast-check';
import { checkReads } from './check-reads.ts';
import { wireOf } from './draft.ts';
import { draftOf, fuzzCase, validCase, type Credential, type FuzzCase, type ValidCase } from './fuzz-case.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { createJudge, throwIfBad, type Verdict } from './judge.ts';
import { createKnownIds, newestOf, type KnownIds } from './known-ids.ts';
import { rawCase, type RawCase } from './raw-requests.ts';
import { readOperations, type ApiDocument, type Operation } from './read-operations.ts';
import type { Answer } from './send-request.ts';
import { createTally, type Tally } from './tally.ts';
import type { GivenMembers, ValueContext } from './valid-value.ts';

export interface Attack {
  readonly target: FuzzTarget;
  /** The first belongs to the account under test, `foreign` ones to another account. */
  readonly credentials: readonly (Credential & { readonly owner?: 'own' | 'foreign' })[];
  /** No answer may contain them. */
  readonly secrets: readonly string[];
  /** Ids that the run depends on. No request may change or delete them. */
  readonly keep: readonly string[];
  readonly members: GivenMembers;
  /** Bodies for operations that accept bytes. */
  readonly bytes: readonly Uint8Array[];
  /** Operations that only a refusal can be expected of, by id. */
  readonly refusedOnly?: ReadonlySet<string>;
  /** Creates resources that no answer mentions. */
  readonly give: (known: KnownIds) => Promise<void>;
  /** The address whose API keys are refused. Only this address may receive 429. */
  readonly refused?: string;
  /** Runs after the valid requests and before the malformed ones. */
  readonly whenWarm?: () => Promise<void>;
}

export interface FuzzOptions {
  readonly seed: number;
  /** The number of malformed requests. Valid requests are additional. */
  readonly requests: number;
  /** The number of requests that are written as bytes to a socket. */
  readonly raw: number;
  /** Runs only this case. An earlier run printed its path. */
  readonly path?: string | undefined;
}

export interface FuzzReport {
  readonly seed: number;
  readonly failures: readonly string[];
  readonly text: string;
}

/** Attempts to shrink a failing case. */
const SHRINKS_MAX = 300;
/** In each of these rounds, every operation is called. */
const ROUNDS_MIN = 4;
/** After this many rounds, an operation without a success is reported. All rounds take a few seconds. */
const ROUNDS_MAX = 40;
/** Rounds of the foreign account. It only needs some resources. */
const FOREIGN_ROUNDS = 2;
const REFUSALS_MIN = 5;
/**
 * Additional requests for an operation with few refusals. An operation without input or credentials refuses few
 * requests.
 */
const MORE_MAX = 100;
const UNAVAILABLE_SHARE_MAX = 0.02;
const HEAP_GROWTH_BYTES_MAX = 192 * 1024 * 1024;

/** Attacks a service with requests generated from its OpenAPI document and a seed. */
export const fuzzRun = async (attack: Attack, options: FuzzOptions): Promise<FuzzReport> => {
  const startedAt = performance.now();
  const document = await readOperations(attack.target.baseUrl);
  const run = createRun(attack, document);
  const failures: string[] = [];
  try {
    await attack.give(run.known);
    failures.push(...(await run.warmUp(options.seed)));
    await attack.whenWarm?.();
    const heapBefore = await run.heapBytes();
    failures.push(...(await run.attackWith(options)));
    const heapAfter = await run.heapBytes();
    if (heapAfter - heapBefore > HEAP_GROWTH_BYTES_MAX) {
      failures.push(`the heap grew from ${heapBefore} to ${heapAfter} bytes`);
    }
    // These checks need the whole run, not a single case.
    if (options.path === undefined)
      failures.push(...run.tally.shallow(REFUSALS_MIN), ...tooOftenAway(run.tally));
    if (options.path === undefined && attack.refused !== undefined && !run.tally.statuses.has(429))
      failures.push(
        `${attack.refused} sent too many invalid credentials, but no request from it was refused`,
      );
    const [own = { authorization: undefined }] = attack.credentials;
    failures.push(...(await checkReads(attack.target.baseUrl, document, own)));
    const text = describe(options, run, performance.now() - startedAt, heapAfter - heapBefore);
    return { seed: options.seed, failures, text };
  } finally {
    run.close();
  }
};

const tooOftenAway = ({ statuses, sent }: Tally): readonly string[] => {
  const away = statuses.get(503) ?? 0;
  const all = sent.valid + sent.malformed + sent.raw;
  return away > all * UNAVAILABLE_SHARE_MAX ? [`${away} of ${all} answers were 503`] : [];
};

const describe = (
  { seed }: FuzzOptions,
  { tally, stalls }: Pick<Run, 'tally' | 'stalls'>,
  tookMs: number,
  heapGrowth: number,
): string => {
  const { sent, slowest } = tally;
  const statuses = [...tally.statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${status === 0 ? 'no answer' : status}: ${count}`);
  return [
    `fuzzed with seed ${seed}: ${sent.malformed} malformed, ${sent.valid} valid and ${sent.raw} raw requests in ` +
      `${Math.round(tookMs / 1_000)} s; slowest answer ${Math.round(slowest.tookMs)} ms (${slowest.what}), ` +
      `${stalls()} slow answers that were fast when repeated; heap ${heapGrowth < 0 ? '' : '+'}${Math.round(heapGrowth / 1024)} KiB`,
    statuses.join('  '),
    ...tally.lines(),
  ].join('\n');
};

interface Run {
  readonly tally: Tally;
  readonly known: KnownIds;
  stalls(): number;
  warmUp(seed: number): Promise<readonly string[]>;
  attackWith(options: FuzzOptions): Promise<readonly string[]>;
  heapBytes(): Promise<number>;
  close(): void;
}

const createRun = (attack: Attack, { operations, resolve }: ApiDocument): Run => {
  const { target, credentials } = attack;
  const known = createKnownIds(operations, new Set(attack.keep));
  const tally = createTally(operations, attack.refusedOnly);
  const judge = createJudge(attack, operations, tally);
  const context: ValueContext = { resolve, members: attack.members, bytes: attack.bytes };

  const sendValid = async (valid: ValidCase, refersTo = known): Promise<Verdict> => {
    const draft = draftOf(valid, refersTo);
    const verdict = await judge.request(valid.operation, 'valid', wireOf(draft));
    const { owner } = valid.credential as Credential & { owner?: 'own' | 'foreign' };
    if (owner !== undefined && verdict.answer !== undefined && verdict.answer.status < 300) {
      known.learn(
        owner,
        valid.operation,
        draft.values.map(decodeURIComponent),
        dataOf(verdict.answer),
        draft.body,
      );
    }
    return verdict;
  };
  const sendCase = async ({ valid, mutations, sendsValidFirst }: FuzzCase): Promise<void> => {
    if (sendsValidFirst) throwIfBad(await sendValid(valid));
    const draft = draftOf(valid, known);
    for (const mutate of mutations) mutate(draft);
    throwIfBad(await judge.request(valid.operation, 'malformed', wireOf(draft)));
  };
  const sendRawCase = async (one: RawCase): Promise<void> => throwIfBad(await judge.raw(one, known));

  return {
    tally,
    known,
    stalls: () => judge.stalls,
    warmUp: async (seed) => {
      const failures: string[] = [];
      // Rounds alternate. One form has only required members and names the newest resources, so that the resources of a
      // round belong together. The other form uses everything that the schemas allow and any known resource.
      const forms = [{ ...context, isPlain: true }, context];
      const callers = credentials
        .filter(({ owner }) => owner !== undefined)
        .map((credential) => ({
          isForeign: credential.owner === 'foreign',
          calls: forms.map((form) =>
            makersFirst(operations)
              .filter(({ scopes }) => credential.scope === undefined || scopes.includes(credential.scope))
              .map((operation) => validCase(operation, form, [credential])),
          ),
        }));
      for (let round = 0; round < ROUNDS_MAX; round++) {
        // Later rounds are for operations without a success, and for those that make what they need.
        const unreached = round < ROUNDS_MIN ? operations : operations.filter(tally.isUnreached);
        const isPlain = round % forms.length === 0;
        for (const { isForeign, calls } of callers) {
          if (isForeign && round >= FOREIGN_ROUNDS) continue;
          const newest = newestOf(known, isForeign);
          for (const [at, call] of (calls[round % calls.length] ?? []).entries()) {
            const [valid] = fc.sample(call, { numRuns: 1, seed: seed + round * operations.length + at });
            if (valid === undefined) continue;
            const { method, path } = valid.operation;
            const place = method === 'GET' ? path : path.slice(0, path.lastIndexOf('/'));
            if (!unreached.some((one) => one.path.startsWith(place))) continue;
            // Deletions in later rounds use any resource: the newest one may be in use in every round.
            const isAnyDeleted = round >= ROUNDS_MIN && method === 'DELETE';
            const refersTo = isPlain && !isAnyDeleted ? newest : known;
            const { problem } = await sendValid({ ...valid, isForeign }, refersTo);
            if (problem !== undefined) failures.push(problem);
          }
        }
        if (failures.length > 0) break;
        if (round + 1 >= ROUNDS_MIN && !operations.some(tally.isUnreached)) break;
      }
      return failures.slice(0, 3);
    },
    attackWith: async ({ seed, requests, raw, path }) => {
      const [, kind = 'http', place = path] = /^([A-Za-z]\w*):(.*)$/.exec(path ?? '') ?? [];
      const failures: string[] = [];
      if (path === undefined || kind === 'http') {
        const cases = fuzzCase(operations, context, credentials);
        failures.push(...(await firstFailure(cases, sendCase, '', { seed, numRuns: requests, path: place })));
      }
      if (path === undefined || kind === 'raw') {
        const cases = rawCase(operations, context, credentials);
        failures.push(
          ...(await firstFailure(cases, sendRawCase, 'raw:', { seed, numRuns: raw, path: place })),
        );
      }
      for (const [at, operation] of operations.entries()) {
        const isAsked = kind === operation.operationId;
        const refusesLittle = (): boolean => tally.refusalsOf(operation) < REFUSALS_MIN;
        if (path === undefined ? failures.length > 0 || !refusesLittle() : !isAsked) continue;
        const cases = fuzzCase([operation], context, credentials);
        const send = async (one: FuzzCase): Promise<void> => {
          if (isAsked || refusesLittle()) await sendCase(one);
        };
        failures.push(
          ...(await firstFailure(cases, send, `${operation.operationId}:`, {
            seed,
            // With one seed for all, the first case of each operation would have the same sender and the same mistake: an
            // address that sends an invalid credential to thirty operations is refused.
            offset: at + 1,
            numRuns: MORE_MAX,
            path: place,
          })),
        );
      }
      return failures;
    },
    heapBytes: async () => {
      const report = await target.ask('heap');
      return 'ended' in report ? 0 : (report.heapBytes ?? 0);
    },
    close: () => judge.close(),
  };
};

/** Creators run before the operations that need their resources. Deletions run last, in reverse order. */
const makersFirst = (operations: readonly Operation[]): readonly Operation[] => {
  const rank = ['POST', 'PUT', 'GET', 'PATCH'];
  const order = ({ pathParameters, method }: Operation): number =>
    pathParameters.length * rank.length + rank.indexOf(method);
  const isDelete = ({ method }: Operation): boolean => method === 'DELETE';
  const others = operations.filter((one) => !isDelete(one));
  return [
    ...others.toSorted((one, other) => order(one) - order(other)),
    ...operations
      .filter(isDelete)
      .toReversed()
      .toSorted((one, other) => order(other) - order(one)),
  ];
};

const dataOf = ({ text }: Answer): unknown => {
  try {
    return (JSON.parse(text) as { data?: unknown }).data;
  } catch {
    return undefined;
  }
};

/** Runs cases until one fails, and shrinks the failing case. @param offset is added to the seed of the cases */
const firstFailure = async <Case>(
  cases: fc.Arbitrary<Case>,
  send: (one: Case) => Promise<void>,
  prefix: string,
  {
    seed,
    offset = 0,
    numRuns,
    path,
  }: { seed: number; offset?: number; numRuns: number; path: string | undefined },
): Promise<readonly string[]> => {
  if (numRuns === 0) return [];
  let attempts = 0;
  const property = fc.asyncProperty(cases, async (one) => {
    if (attempts > SHRINKS_MAX) return;
    if (attempts > 0) attempts += 1;
    try {
      await send(one);
    } catch (error) {
      attempts = Math.max(1, attempts);
      throw error;
    }
  });
  const result = await fc.check(property, {
    seed: seed + offset,
    numRuns,
    ...(path === undefined ? {} : { path }),
  });
  if (!result.failed) return [];
  const error = result.errorInstance;
  return [
    `seed ${seed}, path ${prefix}${result.counterexamplePath ?? ''}, request ${result.numRuns}, shrunk ` +
      `${result.numShrinks} times: ${error instanceof Error ? error.message : String(error)}\n` +
      `Repeat: FUZZ_SEED=${seed} npm run fuzz; only this case: add FUZZ_PATH=${prefix}${result.counterexamplePath ?? ''}.`,
  ];
};
