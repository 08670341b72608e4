import { z } from 'zod';
import type { Backbone } from '../app/composition.ts';
import { systemClock } from '../shared/async/clock.ts';
import { comparePositions, START, type Position } from '../shared/event-store/event-store.ts';
import type { Asked, ExpectedHash } from '../shared/log-chain/asked-range.ts';
import type { SealOptions } from '../shared/log-chain/chain-end.ts';
import { lastCheckpoint } from '../shared/log-chain/checkpoints.ts';
import { listPublicKeys, logKeysOf } from '../shared/log-chain/log-keys.ts';
import { sealLog, witnessOf } from '../shared/log-chain/seal-log.ts';
import { verifyLog, type LogVerification } from '../shared/log-chain/verify-log.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { parsed, parseId } from './words.ts';

/** The operator's commands on the hash chain over the log, beside a running service. */

const chainWith = ({ pool, logBytes }: Backbone, { config }: Tools): SealOptions => ({
  pool,
  log: logBytes,
  keys: logKeysOf(config()),
  clock: systemClock,
});

interface VerifyOptions {
  readonly from?: string;
  readonly to?: string;
  readonly expect?: Expected;
  readonly chain?: number;
}

interface Expected extends Omit<ExpectedHash, 'position'> {
  readonly position: string;
}

export const addLogCommands = (program: OperatorCommand, tools: Tools): void => {
  const log = program.command('log').description('The hash chain over the log.');

  log
    .command('verify')
    .description(
      'Hashes the log again and compares it with what was sealed; names the first position that does not fit. Without ' +
        '--expect it cannot find out that an end was cut off, of the log and the chain together.',
    )
    .option('--from <POSITION>', 'Only what was sealed with this, and behind it.')
    .option('--to <POSITION>', 'Only what was sealed with this, and before it.')
    .option(
      '--expect <POSITION=HASH>',
      'What was written down elsewhere of a checkpoint: a log line, an earlier seal.',
      parsed(
        z
          .string()
          .regex(/^[^=]+=[0-9a-f]{64}$/)
          .transform((word): Expected => {
            const [position = '', hash = ''] = word.split('=');
            return { position, hash };
          }),
        'It must be POSITION=HASH, as `log seal` prints it.',
      ),
    )
    .option('--chain <N>', 'An older chain; default: the newest.', parseId)
    .exits({
      0: 'all that was asked for fits',
      1: 'something does not',
      2: 'it could not be found out, or not be vouched for',
    })
    .action((given: VerifyOptions) => verify(given, tools));

  log
    .command('seal')
    .description('Seals what is new in the log now, as projectors do regularly.')
    .option(
      '--adopt',
      'Signs on behind an end that is unsigned, or signed with a key that the settings do not know. Verify it first.',
    )
    .option(
      '--new-chain',
      'Begins another one: for a log that was moved to another store, or a chain that is lost.',
    )
    .exits({ 1: 'the chain is not what it must be, and is not extended; or it could not be done' })
    .action(
      ({ adopt = false, newChain = false }: { readonly adopt?: boolean; readonly newChain?: boolean }) =>
        seal({ adopt, newChain }, tools),
    );

  log
    .command('keys')
    .description('Public keys that checkpoints were ever signed with, for LOG_VERIFY_KEYS.')
    .action(async () => {
      const { pool } = await tools.backbone();
      for (const key of await listPublicKeys(pool, logKeysOf(tools.config()))) {
        const [id, publicKey] = key.split(':');
        tools.print({ id, publicKey }, key);
      }
    });
};

const seal = async (
  how: { readonly adopt: boolean; readonly newChain: boolean },
  tools: Tools,
): Promise<void> => {
  const chain = chainWith(await tools.backbone(), tools);
  let sealed = 0;
  let last = how.newChain ? undefined : await lastCheckpoint(chain.pool);
  for await (const checkpoint of sealLog(chain, how)) {
    sealed += checkpoint.events;
    last = checkpoint;
  }
  const witness = last && witnessOf(last);
  const signed = chain.keys.current === undefined ? ' Unsigned: LOG_SIGNING_KEYS is not set.' : '';
  tools.print(
    { sealed, checkpoint: witness ?? null },
    witness === undefined
      ? 'the log is empty'
      : `${sealed} events sealed; the chain ends at ${witness.position}=${witness.hash}.${signed}`,
  );
};

/** @throws Error when it cannot vouch for what it has verified */
const verify = async (given: VerifyOptions, tools: Tools): Promise<void> => {
  const backbone = await tools.backbone();
  const asked: Asked = {
    chain: given.chain,
    from: positionOf(backbone, given.from),
    to: positionOf(backbone, given.to),
    expected: given.expect && {
      ...given.expect,
      position: positionOf(backbone, given.expect.position) ?? START,
    },
  };
  const chain = chainWith(backbone, tools);
  const { store, pool } = backbone;
  const { end, whole } = await extentOf(backbone, asked);
  const beganMs = performance.now();
  const result = await tools.withProgress('verified', (onProgress) =>
    verifyLog({
      ...chain,
      ...asked,
      onProgress: ({ events, position }) => {
        const done = store.distance(asked.from ?? START, position) / whole;
        onProgress({ events, fraction: Math.max(0, Math.min(1, done)) });
      },
    }),
  );
  const seconds = Math.round(performance.now() - beganMs) / 1_000;
  const isNewest = asked.chain === undefined || asked.chain === (await lastCheckpoint(pool))?.chain;
  const unsealed = result.broken === undefined && isNewest && (await isMoreThan(backbone, end));
  tools.print(
    { ...result, broken: result.broken ?? null, moreUnsealed: unsealed, seconds },
    describe(result, { seconds, unsealed, canProve: chain.keys.canProve }),
  );
  if (result.doubts.length > 0) throw new Error(result.doubts.join('\n'));
  if (result.broken !== undefined) tools.fail();
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

/** Positions of a dense log may be given as numbers. */
const positionOf = ({ storeKind }: Backbone, word: string | undefined): Position | undefined => {
  if (word === undefined) return undefined;
  return (storeKind === 'postgres' && /^\d{1,16}$/.test(word) ? word.padStart(16, '0') : word) as Position;
};
