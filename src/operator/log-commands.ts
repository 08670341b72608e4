import type { Backbone } from '../composition.ts';
import { systemClock } from '../shared/clock.ts';
import { comparePositions, START, type Position } from '../shared/event-store/event-store.ts';
import type { Asked, ExpectedHash } from '../shared/log-chain/asked-range.ts';
import type { SealOptions } from '../shared/log-chain/chain-end.ts';
import { lastCheckpoint } from '../shared/log-chain/checkpoints.ts';
import { listPublicKeys, logKeysOf } from '../shared/log-chain/log-keys.ts';
import { sealLog, witnessOf } from '../shared/log-chain/seal-log.ts';
import { verifyLog, type LogVerification } from '../shared/log-chain/verify-log.ts';
import { command, telling, type Command, type Tools } from './command.ts';
import { VerifyFailedError, WordsError } from './words.ts';

/** The operator's commands on the hash chain over the log, beside a running service. */

const chainWith = ({ pool, logBytes }: Backbone, { config }: Tools): SealOptions => ({
  pool,
  log: logBytes,
  keys: logKeysOf(config()),
  clock: systemClock,
});

const logVerify = command({
  name: 'log verify',
  places: [],
  options: {
    from: { type: 'string', value: 'POSITION', about: 'Only what was sealed with this, and behind it.' },
    to: { type: 'string', value: 'POSITION', about: 'Only what was sealed with this, and before it.' },
    expect: {
      type: 'string',
      value: 'POSITION=HASH',
      about: 'What was written down elsewhere of a checkpoint: a log line, an earlier seal.',
    },
    chain: { type: 'string', value: 'N', about: 'An older chain; default: the newest.' },
  },
  about:
    'Hashes the log anew and compares it with what was sealed; names the first position that does not fit. That an ' +
    'end was cut off, of the log and the chain together, nobody can tell without --expect.',
  isQuestion: true,
  statuses: {
    0: 'all that was asked for fits',
    1: 'something does not',
    2: 'it could not be found out, or not be vouched for',
  },
  understand: (_, given) => {
    const [chain, expected] = [chainOf(given.chain), expectedOf(given.expect)];
    return async function* (tools) {
      const backbone = await tools.backbone();
      const asked = {
        chain,
        from: positionOf(backbone, given.from),
        to: positionOf(backbone, given.to),
        expected: expected && { ...expected, position: positionOf(backbone, expected.position) ?? START },
      };
      const { value, text, doubts, isBroken } = await verify(backbone, asked, tools);
      yield { value, text };
      if (doubts.length > 0) throw new VerifyFailedError(doubts.join('\n'));
      return isBroken ? 'amiss' : undefined;
    };
  },
});

const logSeal = command({
  name: 'log seal',
  places: [],
  options: {
    adopt: {
      type: 'boolean',
      default: false,
      about:
        'Signs on behind an end that is unsigned, or signed with a key that the settings do not know. Verify it first.',
    },
    'new-chain': {
      type: 'boolean',
      default: false,
      about: 'Begins another one: for a log that was moved to another store, or a chain that is lost.',
    },
  },
  about: 'Seals what is new in the log now, as projectors do regularly.',
  statuses: { 1: 'the chain is not what it must be, and is not extended; or it could not be done' },
  understand: (_, { adopt, 'new-chain': newChain }) =>
    telling(async (tools) => {
      const chain = chainWith(await tools.backbone(), tools);
      let sealed = 0;
      let last = newChain ? undefined : await lastCheckpoint(chain.pool);
      for await (const checkpoint of sealLog(chain, { newChain, adopt })) {
        sealed += checkpoint.events;
        last = checkpoint;
      }
      const witness = last && witnessOf(last);
      const signed = chain.keys.current === undefined ? ' Unsigned: LOG_SIGNING_KEYS is not set.' : '';
      return {
        value: { sealed, checkpoint: witness ?? null },
        text:
          witness === undefined
            ? 'the log is empty'
            : `${sealed} events sealed; the chain ends at ${witness.position}=${witness.hash}.${signed}`,
      };
    }),
});

const logKeys = command({
  name: 'log keys',
  places: [],
  about: 'Public keys that checkpoints were ever signed with, for LOG_VERIFY_KEYS.',
  understand: () =>
    async function* (tools) {
      const { pool } = await tools.backbone();
      for (const key of await listPublicKeys(pool, logKeysOf(tools.config()))) {
        const [id, publicKey] = key.split(':');
        yield { value: { id, publicKey }, text: key };
      }
      return undefined;
    },
});

export const logCommands: readonly Command[] = [logVerify, logSeal, logKeys];

const verify = async (backbone: Backbone, asked: Asked, tools: Tools) => {
  const chain = chainWith(backbone, tools);
  const { store, pool } = backbone;
  const { end, whole } = await extentOf(backbone, asked);
  const line = tools.progress('verified');
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
  return {
    value: { ...result, broken: result.broken ?? null, moreUnsealed: unsealed, seconds },
    text: describe(result, { seconds, unsealed, canProve: chain.keys.canProve }),
    doubts: result.doubts,
    isBroken: result.broken !== undefined,
  };
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
  if (!/^[1-9]\d{0,8}$/.test(word)) throw new WordsError('--chain must be the number of a chain, from 1');
  return Number(word);
};

/** Positions of a dense log may be given as numbers. */
const positionOf = ({ storeKind }: Backbone, word: string | undefined): Position | undefined => {
  if (word === undefined) return undefined;
  return (storeKind === 'postgres' && /^\d{1,16}$/.test(word) ? word.padStart(16, '0') : word) as Position;
};

const expectedOf = (
  word: string | undefined,
): (Omit<ExpectedHash, 'position'> & { readonly position: string }) | undefined => {
  if (word === undefined) return undefined;
  const [, position, hash] = /^([^=]+)=([0-9a-f]{64})$/.exec(word) ?? [];
  if (position === undefined || hash === undefined)
    throw new WordsError('--expect must be POSITION=HASH, as `log seal` prints it');
  return { position, hash };
};
