import { parseArgs } from 'node:util';
import { openBackbone, type Backbone } from '../composition.ts';
import { ConfigError, readConfig, variables } from '../shared/config.ts';
import { armFailpoints } from '../shared/failpoints.ts';
import { createLog } from '../shared/log.ts';
import { accountCommand, accountOptions, accountUsage } from './account-commands.ts';
import { eventsCopy, eventsVerify } from './events-commands.ts';
import { forgetAccount, forgetSubjects, withForgetting } from './forget.ts';
import { logCommand, logOptions, logUsage } from './log-commands.ts';
import { parkedStreams, retryStream } from './parked.ts';
import {
  namedReadModels,
  readModelOptions,
  readModelsRebuild,
  readModelsVerify,
  readModelUsage,
} from './read-model-commands.ts';
import { reEncrypt } from './secrets.ts';
import { sellerCommand, sellerOptions, sellerUsage } from './seller-commands.ts';
import { idOf, VerifyFailedError, WordsError, type Work } from './words.ts';

/** The operator's command line. Works beside a running service and without one. */

const usage = `Usage: npm run -s exchange -- COMMAND

${accountUsage}${sellerUsage}  parked list [--json]                   Lists streams that a read model leaves out, with the reason.
  parked retry PROJECTION STREAM         Tries one again; exit status 1 when it is parked still.
  events copy --from STORE --to STORE    Copies the whole history into an empty store, verifies it, and makes
                                         the read models anew from it. The service is stopped meanwhile.
                                         Killed, it goes on where it was when it is run again.
      [--checkpoint FILE]                Where it remembers that. Default: a file in DATA_DIR.
      [--no-rebuild]                     Leaves the read models alone.
  events verify --from STORE --to STORE  Compares two stores by count and checksum of every stream;
                                         exit status 1 when they differ.
  secrets re-encrypt                     Encrypts every secret with the first of SECRET_KEYS, beside a running
                                         service whose processes know that key already. Ended, it goes on with
                                         what is left; exit status 1 when some could not be read.
  forget --account ACCOUNT --subject ID [--subject ID ...] [--json]
                                         Forgets persons: nothing of them can be read in the log any more, and they
                                         go from audiences and from where those were brought. An ID is a hash of an
                                         e-mail or phone, the buyer's own id, or any other identifier. Ended, it
                                         is run again; exit status 1 when some places were written in clear.
  forget --account ACCOUNT [--json]      The same of all persons of an account, which must be disabled.
${readModelUsage}${logUsage}  config                                 Lists every setting of the service with its default.

A STORE is postgres://..., esdb://..., esdb+discover://..., or embedded: the Postgres of DATA_DIR.
The settings of the service (DATABASE_URL, DATA_DIR, ...) apply here too.
`;

const options = {
  ...accountOptions,
  ...sellerOptions,
  from: { type: 'string' },
  to: { type: 'string' },
  checkpoint: { type: 'string' },
  'no-rebuild': { type: 'boolean', default: false },
  ...readModelOptions,
  ...logOptions,
  account: { type: 'string' },
  subject: { type: 'string', multiple: true },
  help: { type: 'boolean', default: false },
} as const;

/** Wrong arguments: exit status 2, with the message and the usage on standard error. */
class UsageError extends Error {
  override readonly name = 'UsageError';
}

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const run = async (argv: readonly string[]): Promise<void> => {
  const { values, positionals } = parseArguments(argv);
  if (values.help) return print(usage);
  const [noun, verb, ...rest] = positionals;
  const command = `${noun ?? ''} ${verb ?? ''}`.trim();
  const work = wordsWork(command, rest, values);
  if (work !== undefined) return withBackbone((backbone) => printLines(work(backbone)));
  switch (command) {
    case 'parked list':
      return withBackbone((backbone) => parkedList(backbone, values.json));
    case 'parked retry':
      return parkedRetry(rest);
    case 'events copy':
      return runEvents(
        eventsCopy({
          ...storesOf(values.from, values.to),
          checkpoint: values.checkpoint,
          rebuild: !values['no-rebuild'],
        }),
      );
    case 'events verify':
      return runEvents(eventsVerify(storesOf(values.from, values.to)));
    case 'secrets re-encrypt':
      return withBackbone(secretsReEncrypt);
    case 'forget':
      return forget(values.account, values.subject ?? [], values.json);
    case 'read-models rebuild':
    case 'read-models verify':
      return readModelsCommand(command, rest, values);
    case 'log seal':
    case 'log verify':
    case 'log keys':
      return withBackbone(async (backbone) => {
        const config = readConfig(process.env);
        if (!(await logCommand(backbone, config, { command, ...values, print }))) process.exitCode = 1;
      }, command);
    case 'config':
      return print(describeConfig());
    default:
      throw new UsageError(`unknown command: ${positionals.join(' ')}`);
  }
};

const storesOf = (from: string | undefined, to: string | undefined) => {
  if (from === undefined || to === undefined) throw new UsageError('this command needs --from and --to');
  if (from === to) throw new UsageError('--from and --to are the same store');
  return { from, to };
};

const runEvents = async (result: Promise<boolean>): Promise<void> => {
  if (!(await result)) process.exitCode = 1;
};

/**
 * Runs a command on the installation that the settings name, and lets go of it.
 * @param command whose errors are no answer, where its answer is whether something is right
 */
const withBackbone = (work: (backbone: Backbone) => Promise<void>, command = ''): Promise<void> => {
  const done = onBackbone(work);
  return command.endsWith(' verify') ? done.catch(notFoundOut) : done;
};

/** Only what was found out to be wrong is exit status 1. */
const notFoundOut = (cause: unknown): never => {
  if (cause instanceof VerifyFailedError || cause instanceof ConfigError) throw cause;
  throw new VerifyFailedError(messageOf(cause), { cause });
};

/** An error of several addresses of one host has no message of its own. */
const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
};

const onBackbone = async (work: (backbone: Backbone) => Promise<void>): Promise<void> => {
  const config = readConfig(process.env);
  if (config.EXCHANGE_FAILPOINTS !== undefined) {
    armFailpoints(config.EXCHANGE_FAILPOINTS, config.EXCHANGE_FAILPOINT_FILE);
  }
  const backbone = await openBackbone(config, 'exchange-operator', createLog('silent'));
  try {
    await backbone.migrate();
    await work(backbone);
  } finally {
    await backbone.close();
  }
};

const parseArguments = (argv: readonly string[]) => {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
};

const wordsWork = (...words: Parameters<typeof accountCommand>): Work | undefined =>
  understood(words[0], () => accountCommand(...words) ?? sellerCommand(...words));

const understood = <T>(command: string, make: () => T): T => {
  try {
    return make();
  } catch (error) {
    if (error instanceof WordsError) throw new UsageError(`${command}: ${error.message}`);
    throw error;
  }
};

const printLines = async (lines: AsyncIterable<string>): Promise<void> => {
  for await (const line of lines) print(line);
};

const readModelsCommand = async (
  command: string,
  names: readonly string[],
  given: {
    readonly cancel: boolean;
    readonly json: boolean;
    readonly offline: boolean;
    readonly 'allow-parked': boolean;
  },
): Promise<void> => {
  const readModels = understood(command, () => namedReadModels(names));
  const verifies = command.endsWith('verify');
  if (given.offline && (verifies || given.cancel || names.length > 0)) {
    throw new UsageError('--offline makes every read model anew: it goes with `read-models rebuild` alone');
  }
  const wanted = { readModels, ...given, allowParked: given['allow-parked'], print };
  const work = verifies ? readModelsVerify : readModelsRebuild;
  await withBackbone(async (backbone) => {
    if (!(await work(backbone, wanted))) process.exitCode = 1;
  }, command);
};

const parkedList = async (backbone: Backbone, json: boolean): Promise<void> => {
  for await (const parked of parkedStreams(backbone)) {
    const { projection, stream, revision, position, eventType, attempts, error } = parked;
    print(
      json
        ? JSON.stringify(parked)
        : `${projection} ${stream}@${revision} (${eventType} at ${position}, ${attempts} attempts): ${error}`,
    );
  }
};

const parkedRetry = async ([projection, stream]: readonly string[]): Promise<void> => {
  if (projection === undefined || stream === undefined)
    throw new UsageError('parked retry needs PROJECTION and STREAM');
  await withBackbone(async (backbone) => {
    const result = await retryStream(backbone, projection, stream);
    if (result.outcome === 'applied') print(`applied ${result.events} events; ${stream} is projected again`);
    else if (result.outcome === 'not-parked') print(`${stream} is not parked`);
    else {
      print(`still parked: ${result.stream.error}`);
      process.exitCode = 1;
    }
  });
};

const secretsReEncrypt = async (backbone: Backbone): Promise<void> => {
  const lines = reEncrypt(backbone, readConfig(process.env));
  let next = await lines.next();
  for (; next.done !== true; next = await lines.next()) print(next.value);
  if (!next.value) process.exitCode = 1;
};

const forget = async (
  account: string | undefined,
  subjects: readonly string[],
  json: boolean,
): Promise<void> => {
  const customerId = accountOf(account);
  await withBackbone(async (backbone) => {
    const log = createLog('silent');
    const result = await withForgetting(backbone, readConfig(process.env), customerId, log, (forgetting) =>
      subjects.length === 0 ? forgetAccount(forgetting) : forgetSubjects(forgetting, subjects),
    );
    const { forgettingId, places, members, inClear } = result;
    if (json) print(JSON.stringify(result));
    else if (forgettingId === undefined) print('nothing was found');
    else print(`forgotten: ${places} places in the log, ${members} members of audiences (${forgettingId})`);
    if (inClear > 0) {
      process.stderr.write(
        `${inClear} places were written in clear by an earlier version, and stay in the log\n`,
      );
      process.exitCode = 1;
    }
  });
};

const accountOf = (account: string | undefined): number => {
  try {
    return idOf('ACCOUNT', account);
  } catch (error) {
    throw error instanceof WordsError ? new UsageError(`forget: --account: ${error.message}`) : error;
  }
};

const describeConfig = (): string =>
  Object.entries(variables)
    .map(([name, schema]) => {
      const byDefault = schema.safeParse(undefined).data ?? '';
      // Whose default is no plain value says it in its description.
      const isPlain = Array.isArray(byDefault) || typeof byDefault !== 'object';
      const shown = byDefault === '' || !isPlain ? '' : ` Default: ${String(byDefault)}.`;
      return `${name}\n    ${schema.description ?? ''}${shown}`;
    })
    .join('\n');

try {
  await run(process.argv.slice(2));
} catch (error) {
  const message = messageOf(error);
  process.stderr.write(error instanceof UsageError ? `${message}\n\n${usage}` : `${message}\n`);
  const isOfWords = error instanceof UsageError || error instanceof ConfigError;
  process.exitCode = isOfWords || error instanceof VerifyFailedError ? 2 : 1;
}
