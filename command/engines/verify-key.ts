import { abortable } from '../../shared/async/abortable.ts';
import { invalid, NotDoneError, type ApiError } from '../../shared/http/errors.ts';
import type { EngineAccount } from '../../domain/engines/resource.ts';

export type KeyVerdict =
  | { readonly outcome: 'accepted'; readonly accounts: readonly EngineAccount[] }
  | { readonly outcome: 'refused' };

/** May throw any error; its text is never shown. @param signal aborted when the caller no longer waits */
export type AskEngine = (apiKey: string, signal: AbortSignal) => Promise<KeyVerdict>;

/** @throws ApiError VALIDATION_ERROR (the engine refuses the key), SERVICE_UNAVAILABLE (no answer in time) */
export type VerifyKey = (engineId: number, apiKey: string) => Promise<readonly EngineAccount[]>;

interface Verifiers {
  /** Keys of engines without an entry are accepted without a check. */
  readonly engines: ReadonlyMap<number, AskEngine>;
  readonly timeoutMs: number;
}

/** Within these limits, all accounts fit into one event. */
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
      throw new NotDoneError(
        'The engine did not verify the key in time. Repeat the request after Retry-After.',
      );
    }
    if (verdict.outcome === 'refused') throw refusedKey();
    return knownAccounts(verdict.accounts);
  };

/** Undefined after a timeout or failure. The error is dropped, because its text might repeat the key. */
const askWithin = async (
  timeoutMs: number,
  ask: (signal: AbortSignal) => Promise<KeyVerdict>,
): Promise<KeyVerdict | undefined> => {
  const signal = AbortSignal.timeout(timeoutMs);
  const asked = async (): Promise<KeyVerdict> => ask(signal);
  return abortable(asked(), signal).catch(() => undefined);
};

/** Leaves out duplicates, and ids that cannot be stored. */
const knownAccounts = (accounts: readonly EngineAccount[]): readonly EngineAccount[] => {
  const known = new Map<string, EngineAccount>();
  for (const { id, name } of accounts) {
    if (known.size === ACCOUNTS_MAX) break;
    if (isId(id) && !known.has(id)) known.set(id, { id, name: storable(name) || id });
  }
  return [...known.values()];
};

const isId = (id: string): boolean => id !== '' && id === storable(id) && id.length <= ID_CHARS_MAX;

const storable = (text: string): string =>
  Array.from(text.toWellFormed().replaceAll('\0', '')).slice(0, NAME_CHARS_MAX).join('');

const refusedKey = (): ApiError =>
  invalid('apiKey: The engine refuses this key. Give the key that the engine has issued to you.', 'apiKey');
