import type { Backbone } from '../composition.ts';
import type { Config } from '../shared/config.ts';
import { comparePositions, START, type Position } from '../shared/event-store/event-store.ts';
import { beginning, lastCheckpoint } from '../shared/log-chain/checkpoints.ts';
import { keepPublicKey, listPublicKeys, logKeysOf } from '../shared/log-chain/log-keys.ts';
import { sealLog, witnessOf } from '../shared/log-chain/seal-log.ts';
import { verifyLog, type ExpectedHash, type LogVerification } from '../shared/log-chain/verify-log.ts';
import { createProgressLine } from './event-move/progress-line.ts';
import { VerifyFailedError } from './words.ts';

/** The operator's commands on the hash chain over the log, beside a running service. */

export const logUsage = `  log verify [--json]                    Hashes the log anew and compares it with what was sealed; names the first
                                         position that does not fit. Exit status 0: all fits, 1: something does
                                         not, 2: it could not be found out.
      [--from POSITION] [--to POSITION]  Only what was sealed with these, and between them.
      [--expect POSITION=HASH]           What was written down elsewhere of a checkpoint: a log line, an earlier seal.
  log seal [--json] [--new-chain]        Seals what is new in the log now, as projectors do regularly. A new chain
                                         is for a log that was moved to another store.
  log keys                               Public keys that checkpoints were ever signed with, for LOG_VERIFY_KEYS.
`;

export const logOptions = {
  expect: { type: 'string' },
  'new-chain': { type: 'boolean', default: false },
} as const;

export interface LogWanted {
  readonly command: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly expect?: string | undefined;
  readonly 'new-chain': boolean;
  readonly json: boolean;
  readonly print: (text: string) => void;
}

/** @returns whether all is well @throws VerifyFailedError */
export const logCommand = async (backbone: Backbone, config: Config, wanted: LogWanted): Promise<boolean> => {
  const chain = { pool: backbone.pool, log: backbone.logBytes, keys: logKeysOf(config) };
  switch (wanted.command) {
    case 'log keys':
      await keepPublicKey(backbone.pool, chain.keys);
      for (const key of await listPublicKeys(backbone.pool)) wanted.print(key);
      return true;
    case 'log seal':
      return seal(chain, wanted);
    default:
      return verify(backbone, chain, wanted).catch((cause: unknown) => {
        throw new VerifyFailedError(cause instanceof Error ? cause.message : String(cause), { cause });
      });
  }
};

type Chain = Parameters<typeof sealLog>[0];

const seal = async (chain: Chain, wanted: LogWanted): Promise<boolean> => {
  const before = await lastCheckpoint(chain.pool);
  const identity = { chain: (before?.chain ?? 0) + 1, format: chain.log.format };
  let sealed = 0;
  let last = before;
  for await (const checkpoint of sealLog(chain, wanted['new-chain'] ? beginning(identity) : undefined)) {
    sealed += checkpoint.events;
    last = checkpoint;
  }
  const witness = last && witnessOf(last);
  const signed = chain.keys.canProve ? '' : ' Unsigned: LOG_SIGNING_KEYS is not set.';
  wanted.print(
    wanted.json
      ? JSON.stringify({ sealed, checkpoint: witness ?? null })
      : witness === undefined
        ? 'the log is empty'
        : `${sealed} events sealed; the chain ends at ${witness.position}=${witness.hash}.${signed}`,
  );
  return true;
};

const verify = async (backbone: Backbone, chain: Chain, wanted: LogWanted): Promise<boolean> => {
  const { store, pool } = backbone;
  const [from, to] = [positionOf(backbone, wanted.from), positionOf(backbone, wanted.to)];
  const end = (await lastCheckpoint(pool))?.last ?? START;
  const upTo = to === undefined || comparePositions(to, end) > 0 ? end : to;
  const whole = Math.max(1, store.distance(from ?? START, upTo));
  const line = createProgressLine('verified');
  const beganMs = performance.now();
  const result = await verifyLog({
    ...chain,
    from,
    to,
    expected: expectedOf(backbone, wanted.expect),
    onProgress: ({ events, position }) =>
      line.update({
        events,
        fraction: Math.max(0, Math.min(1, store.distance(from ?? START, position) / whole)),
      }),
  });
  line.end();
  const seconds = Math.round(performance.now() - beganMs) / 1_000;
  const unsealed = result.broken === undefined && (await isMoreThan(backbone, end));
  wanted.print(
    wanted.json
      ? JSON.stringify({ ...result, broken: result.broken ?? null, moreUnsealed: unsealed, seconds })
      : describe(result, { seconds, unsealed, canProve: chain.keys.canProve }),
  );
  return result.broken === undefined;
};

const isMoreThan = async ({ store }: Backbone, end: Position): Promise<boolean> =>
  comparePositions(await store.head(), end) > 0;

const describe = (
  { events, from, to, checkpoints, signed, broken }: LogVerification,
  { seconds, unsealed, canProve }: { seconds: number; unsealed: boolean; canProve: boolean },
): string => {
  const done = `${events} events, ${from ?? '-'} to ${to ?? '-'}, in ${seconds} s`;
  if (broken !== undefined) return `BROKEN at ${broken.position}: ${broken.problem}\nbefore that: ${done}`;
  return [
    `${done}: as they were sealed, in ${checkpoints} checkpoints, ${signed} signatures checked`,
    ...(canProve
      ? []
      : ['unsigned, or no key to check with: whoever can write to the database can forge this']),
    ...(unsealed ? ['what is behind that is not sealed yet'] : []),
  ].join('\n');
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
    throw new Error('--expect must be POSITION=HASH, as `log seal` prints it');
  return { position: at, hash };
};
