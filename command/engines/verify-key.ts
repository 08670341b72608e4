import { abortable } from '../../shared/async/abortable.ts';
import { ApiError, NotDoneError } from '../../shared/http/errors.ts';
import type { EngineAccount } from '../../domain/engines/engine-connection-events.ts';

/** What an engine says of a key. */
export type KeyVerdict =
  | { readonly outcome: 'accepted'; readonly accounts: readonly EngineAccount[] }
  | { readonly outcome: 'refused' };

/**
 * Asks one engine whether it takes a key. May throw, and say in it what it likes: nobody is shown that.
 * @param signal aborted when nobody waits any more
 */
export type AskEngine = (apiKey: string, signal: AbortSignal) => Promise<KeyVerdict>;

/**
 * The accounts that a key leads to at an engine.
 * @throws ApiError VALIDATION_ERROR when the engine does not take it; SERVICE_UNAVAILABLE when it cannot say in time.
 *   Neither holds the key.
 */
export type VerifyKey = (engineId: number, apiKey: string) => Promise<readonly EngineAccount[]>;

interface Verifiers {
  /** By engine. The key of an engine that is not here is taken as it is. */
  readonly engines: ReadonlyMap<number, AskEngine>;
  readonly timeoutMs: number;
}

/** So many fit an event, however long their ids and names are. */
const ACCOUNTS_MAX = 500;
const ID_CHARS_MAX = 100;
const NAME_CHARS_MAX = 200;

export const createVerifyKey =
  ({ engines, timeoutMs }: Verifiers): VerifyKey =>
  async (engineId, apiKey) => {
    const ask = engines.get(engineId);
    if (ask === undefined) return [];
    const verdict = await askWithin(timeoutMs, (signal) => ask(apiKey, signal));
    if (verdict === undefined) {
      throw new NotDoneError('The engine did not say whether it takes the key. Repeat after Retry-After.');
    }
    if (verdict.outcome === 'refused') throw refusedKey();
    return knownAccounts(verdict.accounts);
  };

/** Undefined when there was no answer in time, or a failure. Its text might repeat the key: it goes nowhere. */
const askWithin = async (
  timeoutMs: number,
  ask: (signal: AbortSignal) => Promise<KeyVerdict>,
): Promise<KeyVerdict | undefined> => {
  const signal = AbortSignal.timeout(timeoutMs);
  const asked = async (): Promise<KeyVerdict> => ask(signal);
  return abortable(asked(), signal).catch(() => undefined);
};

/** Each once, in the engine's order. One whose id cannot be kept could never be named: it is left out. */
const knownAccounts = (accounts: readonly EngineAccount[]): readonly EngineAccount[] => {
  const known = new Map<string, EngineAccount>();
  for (const { id, name } of accounts) {
    if (known.size === ACCOUNTS_MAX) break;
    if (isId(id) && !known.has(id)) known.set(id, { id, name: storable(name) || id });
  }
  return [...known.values()];
};

const isId = (id: string): boolean => id !== '' && id === storable(id) && id.length <= ID_CHARS_MAX;

/** What of a text can be kept, and fits. */
const storable = (text: string): string =>
  Array.from(text.toWellFormed().replaceAll('\0', '')).slice(0, NAME_CHARS_MAX).join('');

const refusedKey = (): ApiError =>
  new ApiError({
    code: 'VALIDATION_ERROR',
    message: 'apiKey: The engine does not take this key. Give the key that the engine has issued to you.',
    field: 'apiKey',
  });
