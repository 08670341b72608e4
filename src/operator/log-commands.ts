import type { Backbone } from '../composition.ts';
import { systemClock } from '../shared/clock.ts';
import type { Config } from '../shared/config.ts';
import { comparePositions, START, type Position } from '../shared/event-store/event-store.ts';
import type { Asked, ExpectedHash } from '../shared/log-chain/asked-range.ts';
import type { SealOptions } from '../shared/log-chain/chain-end.ts';
import { lastCheckpoint } from '../shared/log-chain/checkpoints.ts';
import { listPublicKeys, logKeysOf } from '../shared/log-chain/log-keys.ts';
import { sealLog, witnessOf } from '../shared/log-chain/seal-log.ts';
import { verifyLog, type LogVerification } from '../shared/log-chain/verify-log.ts';
import { createProgressLine } from './event-move/progress-line.ts';
import { VerifyFailedError } from './words.ts';

/** The operator's commands on the hash chain over the log, beside a running service. */

export const logUsage = `  log verify [--json]                    Hashes the log anew and compares it with what was sealed; names the first
                                         position that does not fit. Exit status 0: all that was asked for fits,
                                         1: something does not, 2: it could not be found out, or not be vouched
                                         for. That an end was cut off, of the log and the chain together, nobody
                                         can tell without --expect.
      [--from POSITION] [--to POSITION]  Only what was sealed with these, and between them.
      [--expect POSITION=HASH]           What was written down elsewhere of a checkpoint: a log line, an earlier seal.
      [--chain N]                        An older chain; default: the newest.
  log seal [--json]                      Seals what is new in the log now, as projectors do regularly. Exit status 1:
                                         the chain is not what it must be, and is not extended.
      [--adopt]                          Signs on behind an end that is unsigned, or signed with a key that the
                                         settings do not know. Verify it first.
      [--new-chain]                      Begins another one: for a log that was moved to another store, or a chain
                                         that is lost.
  log keys                               Public keys that checkpoints were ever signed with, for LOG_VERIFY_KEYS.
`;

export const logOptions = {
  adopt: { type: 'boolean', default: false },
  chain: { type: 'string' },
  expect: { type: 'string' },
  'new-chain': { type: 'boolean', default: false },
} as const;

export interface LogWanted {
  readonly command: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly expect?: string | undefined;
  readonly chain?: string | undefined;
  readonly adopt: boolean;
  readonly 'new-chain': boolean;
  readonly json: boolean;
  readonly print: (text: string) => void;
}

/** @returns whether all is well @throws VerifyFailedError */
export const logCommand = async (backbone: Backbone, config: Config, wanted: LogWanted): Promise<boolean> => {
  const chain = { pool: backbone.pool, log: backbone.logBytes, keys: logKeysOf(config), clock: systemClock };
  switch (wanted.command) {
    case 'log keys':
      for (const key of await listPublicKeys(backbone.pool, chain.keys)) wanted.print(key);
      return true;
    case 'log seal':
      return seal(chain, wanted);
    default:
      return verify(backbone, chain, wanted);
  }
};

const seal = async (chain: SealOptions, wanted: LogWanted): Promise<boolean> => {
  let sealed = 0;
  let last = wanted['new-chain'] ? undefined : await lastCheckpoint(chain.pool);
  for await (const checkpoint of sealLog(chain, { newChain: wanted['new-chain'], adopt: wanted.adopt })) {
    sealed += checkpoint.events;
    last = checkpoint;
  }
  const witness = last && witnessOf(last);
  const signed = chain.keys.current === undefined ? ' Unsigned: LOG_SIGNING_KEYS is not set.' : '';
  wanted.print(
    wanted.json
      ? JSON.stringify({ sealed, checkpoint: witness ?? null })
      : witness === undefined
        ? 'the log is empty'
        : `${sealed} events sealed; the chain ends at ${witness.position}=${witness.hash}.${signed}`,
  );
  return true;
};

const verify = async (backbone: Backbone, chain: SealOptions, wanted: LogWanted): Promise<boolean> => {
  const { store, pool } = backbone;
  const asked = {
    chain: chainOf(wanted.chain),
    from: positionOf(backbone, wanted.from),
    to: positionOf(backbone, wanted.to),
    expected: expectedOf(backbone, wanted.expect),
  };
  const { end, whole } = await extentOf(backbone, asked);
  const line = createProgressLine('verified');
  const beganMs = performance.now();
  const result = await verifyLog({
    ...chain,
    ...asked,
    onProgress: ({ events, position }) => {
      const done = store.distance(asked.from ?? START, position) / whole;
      line.update({ events, fraction: Math.max(0, Math.min(1, done)) });
    },
  });
  line.end();
  const seconds = Math.round(performance.now() - beganMs) / 1_000;
  const isNewest = asked.chain === undefined || asked.chain === (await lastCheckpoint(pool))?.chain;
  const unsealed = result.broken === undefined && isNewest && (await isMoreThan(backbone, end));
  wanted.print(
    wanted.json
      ? JSON.stringify({ ...result, broken: result.broken ?? null, moreUnsealed: unsealed, seconds })
      : describe(result, { seconds, unsealed, canProve: chain.keys.canProve }),
  );
  if (result.doubts.length > 0) throw new VerifyFailedError(result.doubts.join('\n'));
  return result.broken === undefined;
};

/** For what is shown only: what the words ask for is checked by `verifyLog`. */
const extentOf = async (
  { store, pool, logBytes }: Backbone,
  { chain, from = START, to }: Asked,
): Promise<{ readonly end: Position; readonly whole: number }> => {
  const end = (await lastCheckpoint(pool, chain))?.last ?? START;
  const upTo = to === undefined || comparePositions(to, end) > 0 ? end : to;
  const areKnown = [from, upTo].every((one) => one === START || logBytes.isPosition(one));
  return { end, whole: areKnown ? Math.max(1, store.distance(from, upTo)) : 1 };
};

const isMoreThan = async ({ store }: Backbone, end: Position): Promise<boolean> =>
  comparePositions(await store.head(), end) > 0;

const describe = (
  { chain, events, from, to, checkpoints, signed, sealedAt, witnessed, broken }: LogVerification,
  { seconds, unsealed, canProve }: { seconds: number; unsealed: boolean; canProve: boolean },
): string => {
  const done = `${events} events, ${from ?? '-'} to ${to ?? '-'}, in ${seconds} s`;
  if (broken !== undefined) return `BROKEN at ${broken.position}: ${broken.problem}\nbefore that: ${done}`;
  return [
    `${done}: they fit ${checkpoints} checkpoints of chain ${chain}, the last one of ${sealedAt ?? 'no known time'}; ` +
      `${signed} signatures checked`,
    witnessed
      ? 'up to --expect they are as they were sealed'
      : 'without --expect nobody can tell whether more was sealed behind that and cut off again',
    ...(canProve
      ? []
      : ['unsigned, or no key to check with: whoever can write to the database can forge this']),
    ...(unsealed ? ['what is behind that is not sealed yet'] : []),
  ].join('\n');
};

const chainOf = (word: string | undefined): number | undefined => {
  if (word === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(word))
    throw new VerifyFailedError('--chain must be the number of a chain, from 1');
  return Number(word);
};

/** Positions of a dense log may be given as numbers. */
const positionOf = ({ storeKind }: Backbone, word: string | undefined): Position | undefined => {
  if (word === undefined) return undefined;
  return (storeKind === 'postgres' && /^\d{1,16}$/.test(word) ? word.padStart(16, '0') : word) as Position;
};

const expectedOf = (backbone: Backbone, word: string | undefined): ExpectedHash | undefined => {
  if (word === undefined) return undefined;
  const [, position, hash] = /^([^=]+)=([0-9a-f]{64})$/.exec(word) ?? [];
  const at = positionOf(backbone, position);
  if (at === undefined || hash === undefined)
    throw new VerifyFailedError('--expect must be POSITION=HASH, as `log seal` prints it');
  return { position: at, hash };
};
