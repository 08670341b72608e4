import { z } from 'zod';
import type { Installation } from '../app/installation.ts';
import { systemClock } from '../shared/async/clock.ts';
import { comparePositions, START, type Position } from '../shared/event-store/event-store.ts';
import type { RangeQuery, ExpectedHash } from '../shared/log-chain/resolve-range.ts';
import type { SealOptions } from '../shared/log-chain/chain-end.ts';
import { lastCheckpoint } from '../shared/log-chain/checkpoints.ts';
import { listPublicKeys, logKeysOf } from '../shared/log-chain/log-keys.ts';
import { sealLog, witnessOf } from '../shared/log-chain/seal-log.ts';
import { verifyLog, type LogVerification } from '../shared/log-chain/verify-log.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { parsed, parseId } from './parse-args.ts';

const chainWith = ({ pool, logBytes }: Installation, { config }: Tools): SealOptions => ({
  pool,
  log: logBytes,
  keys: logKeysOf(config()),
  clock: systemClock,
});

interface VerifyOptions {
  readonly from?: string;
  readonly to?: string;
  readonly expect?: ExpectedCheckpoint;
  readonly chain?: number;
}

interface ExpectedCheckpoint extends Omit<ExpectedHash, 'position'> {
  readonly position: string;
}

export const addLogCommands = (program: OperatorCommand, tools: Tools): void => {
  const log = program.command('log').description('The hash chain over the log.');

  log
    .command('verify')
    .description(
      'Hashes the log again, compares it with the sealed checkpoints, and names the first position that does not ' +
        'match. Without --expect it cannot detect that the ends of log and chain were both cut off.',
    )
    .option('--from <POSITION>', 'Start at the checkpoint that seals this position.')
    .option('--to <POSITION>', 'End at the checkpoint that seals this position.')
    .option(
      '--expect <POSITION=HASH>',
      'A checkpoint recorded elsewhere: in a log line, or by an earlier `log seal`.',
      parsed(
        z
          .string()
          .regex(/^[^=]+=[0-9a-f]{64}$/)
          .transform((word): ExpectedCheckpoint => {
            const [position = '', hash = ''] = word.split('=');
            return { position, hash };
          }),
        'It must be POSITION=HASH, as `log seal` prints it.',
      ),
    )
    .option('--chain <N>', 'An older chain; default: the newest.', parseId)
    .exits({
      0: 'the requested range matches',
      1: 'a position does not match',
      2: 'the check failed, or no signature covers the range',
    })
    .example('', '--from 1000 --to 2000')
    .action((given: VerifyOptions) => verify(given, tools));

  log
    .command('seal')
    .description('Seals new events now, as projectors do regularly.')
    .option(
      '--adopt',
      'Continues a chain whose end is unsigned, or signed with a key missing from the settings. Verify it first.',
    )
    .option(
      '--new-chain',
      'Starts another chain: for a log that was moved to another store, or a lost chain.',
    )
    .exits({ 1: 'the chain is invalid and was not extended, or the command failed' })
    .action(
      ({ adopt = false, newChain = false }: { readonly adopt?: boolean; readonly newChain?: boolean }) =>
        seal({ adopt, newChain }, tools),
    );

  log
    .command('keys')
    .description('Lists the public keys of all checkpoints, for LOG_VERIFY_KEYS.')
    .action(async () => {
      const { pool } = await tools.installation();
      const keys = await listPublicKeys(pool, logKeysOf(tools.config()));
      if (keys.length === 0) tools.remark('No checkpoint is signed, and LOG_SIGNING_KEYS is not set.');
      for (const key of keys) {
        const [id, publicKey] = key.split(':');
        tools.print({ id, publicKey }, key);
      }
    });
};

/** For the drill of a backup. */
export const verifyWholeLog = (tools: Tools): Promise<void> => verify({}, tools);
export const sealNewChain = (tools: Tools): Promise<void> => seal({ adopt: false, newChain: true }, tools);

const seal = async (
  how: { readonly adopt: boolean; readonly newChain: boolean },
  tools: Tools,
): Promise<void> => {
  const chain = chainWith(await tools.installation(), tools);
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

/** @throws Error when the signatures or the chain leave the result in doubt */
const verify = async (given: VerifyOptions, tools: Tools): Promise<void> => {
  const installation = await tools.installation();
  const asked: RangeQuery = {
    chain: given.chain,
    from: positionOf(installation, given.from),
    to: positionOf(installation, given.to),
    expected: given.expect && {
      ...given.expect,
      position: positionOf(installation, given.expect.position) ?? START,
    },
  };
  const chain = chainWith(installation, tools);
  const { store, pool } = installation;
  const { end, whole } = await extentOf(installation, asked);
  const beganMs = performance.now();
  const result = await tools.withProgress('verifying', (onProgress) =>
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
  const unsealed = result.broken === undefined && isNewest && (await isMoreThan(installation, end));
  tools.print(
    { ...result, broken: result.broken ?? null, moreUnsealed: unsealed, seconds },
    describe(result, { seconds, unsealed, canProve: chain.keys.canProve }),
  );
  if (result.doubts.length > 0) throw new Error(result.doubts.join('\n'));
  if (result.broken !== undefined) tools.fail();
};

/** The range for the progress display only. `verifyLog` checks the requested range itself. */
const extentOf = async (
  { store, pool, logBytes }: Installation,
  { chain, from = START, to }: RangeQuery,
): Promise<{ readonly end: Position; readonly whole: number }> => {
  const end = (await lastCheckpoint(pool, chain))?.last ?? START;
  const upTo = to === undefined || comparePositions(to, end) > 0 ? end : to;
  const areKnown = [from, upTo].every((one) => one === START || logBytes.isPosition(one));
  return { end, whole: areKnown ? Math.max(1, store.distance(from, upTo)) : 1 };
};

const isMoreThan = async ({ store }: Installation, end: Position): Promise<boolean> =>
  comparePositions(await store.head(), end) > 0;

const describe = (
  { chain, events, from, to, checkpoints, signed, sealedAt, witnessed, broken }: LogVerification,
  { seconds, unsealed, canProve }: { seconds: number; unsealed: boolean; canProve: boolean },
): string => {
  const done = `${events} events, ${from ?? '-'} to ${to ?? '-'}, in ${seconds} s`;
  if (broken !== undefined) return `BROKEN at ${broken.position}: ${broken.problem}\nbefore that: ${done}`;
  return [
    `${done}: they match ${checkpoints} checkpoints of chain ${chain}, the last one sealed at ${sealedAt ?? 'an unknown time'}; ` +
      `${signed} signatures checked`,
    witnessed
      ? 'up to --expect the log is as it was sealed'
      : 'without --expect it is unknown whether later events were sealed and then cut off',
    ...(canProve
      ? []
      : ['unsigned, or no key to check with: anyone with write access to the database can forge this']),
    ...(unsealed ? ['later events are not sealed yet'] : []),
  ].join('\n');
};

const positionOf = ({ storeKind }: Installation, word: string | undefined): Position | undefined => {
  if (word === undefined) return undefined;
  return (storeKind === 'postgres' && /^\d{1,16}$/.test(word) ? word.padStart(16, '0') : word) as Position;
};
