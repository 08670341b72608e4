import { parseArgs } from 'node:util';
import { openBackbone, type Backbone } from '../composition.ts';
import { ConfigError, readConfig, type Config } from '../shared/config.ts';
import { armFailpoints } from '../shared/failpoints.ts';
import { createLog } from '../shared/log.ts';
import { operatorPatience } from '../shared/patience.ts';
import { allCommands } from './all-commands.ts';
import type { Command, Ending, Options, Tools, Work } from './command.ts';
import { createProgressLine } from './event-move/progress-line.ts';
import { usageOf, usageOfOne } from './usage.ts';
import { VerifyFailedError, WordsError } from './words.ts';

/** From the words of a terminal to what is printed and the exit status: the same for every command. */

type Output = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;

/** What a program is given. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: Pick<Output, 'write'>;
  readonly stderr: Output;
}

/** Wrong words: exit status 2, with the message and the usage on standard error. */
class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly usage: string;

  constructor(message: string, usage: string) {
    super(message);
    this.usage = usage;
  }
}

interface Understood {
  readonly command: Command;
  readonly work: Work;
  readonly json: boolean;
}

const common = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const satisfies Options;

/** @returns the exit status: 0, 1 or 2, as the help says */
export const runCommand = async (argv: readonly string[], terminal: Terminal): Promise<number> => {
  const { stdout, stderr } = terminal;
  let understood: Understood | undefined;
  try {
    understood = understand(argv);
    const { work, json } = understood;
    const ending = await withTools(terminal, async (tools) => {
      const telling = work(tools);
      for (;;) {
        const next = await telling.next();
        if (next.done === true) return next.value;
        const line = json ? JSON.stringify(next.value.value) : next.value.text;
        if (line !== undefined) stdout.write(`${line}\n`);
      }
    });
    return ending === 'amiss' ? 1 : 0;
  } catch (error) {
    const message = messageOf(error);
    stderr.write(error instanceof UsageError ? `${message}\n\n${error.usage}` : `${message}\n`);
    return statusOf(error, understood?.command);
  }
};

const statusOf = (error: unknown, command: Command | undefined): 1 | 2 => {
  const isOfWords =
    error instanceof UsageError || error instanceof WordsError || error instanceof ConfigError;
  // Only what was found out to be wrong is 1, where that was the question.
  return isOfWords || error instanceof VerifyFailedError || command?.isQuestion === true ? 2 : 1;
};

/** An error of several addresses of one host has no message of its own. */
const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
};

/** @throws UsageError */
export const understand = (argv: readonly string[]): Understood => {
  const { positionals, values: asked } = parsed(argv, everyOption(), usageOf(allCommands));
  const found = commandOf(positionals);
  if (found === undefined) {
    if (asked['help'] === true) return understand(['help', ...(asked['json'] === true ? ['--json'] : [])]);
    const words = positionals.join(' ');
    throw new UsageError(
      words === '' ? 'a command is needed' : `unknown command: ${words}`,
      usageOf(allCommands),
    );
  }
  if (asked['help'] === true) {
    return understand(['help', ...found.name.split(' '), ...(asked['json'] === true ? ['--json'] : [])]);
  }
  // Once more, with its own options alone.
  const { values } = parsed(argv, { ...found.options, ...common }, usageOfOne(found), found.name);
  try {
    const words = positionals.slice(found.name.split(' ').length);
    return { command: found, work: found.understand(words, values), json: values['json'] === true };
  } catch (error) {
    if (error instanceof WordsError)
      throw new UsageError(`${found.name}: ${error.message}`, usageOfOne(found));
    throw error;
  }
};

const commandOf = ([noun = '', verb = '']: readonly string[]): Command | undefined =>
  allCommands.find(({ name }) => name === `${noun} ${verb}`) ?? allCommands.find(({ name }) => name === noun);

/** To tell words from values of options before the command is known: one name means the same for all of them. */
const everyOption = (): Options =>
  Object.assign({}, ...allCommands.map(({ options }) => options), common) as Options;

const parsed = (argv: readonly string[], options: Options, usage: string, name?: string) => {
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
    return { values: values as Readonly<Record<string, unknown>>, positionals };
  } catch (error) {
    // What follows the first sentence is advice that does not apply here.
    const [message = ''] = messageOf(error).split('. ');
    throw new UsageError(name === undefined ? message : `${name}: ${message}`, usage);
  }
};

const withTools = async (
  { environment, stderr }: Terminal,
  work: (tools: Tools) => Promise<Ending>,
): Promise<Ending> => {
  let opened: Promise<Backbone> | undefined;
  const config = (): Config => readConfig(environment);
  try {
    return await work({
      config,
      backbone: async () => {
        opened ??= open(config());
        const backbone = await opened;
        await backbone.migrate();
        return backbone;
      },
      progress: (label) => createProgressLine(label, stderr),
      remark: (text) => stderr.write(`${text}\n`),
    });
  } finally {
    await (await opened?.catch(() => undefined))?.close();
  }
};

const open = (config: Config): Promise<Backbone> => {
  if (config.EXCHANGE_FAILPOINTS !== undefined) {
    armFailpoints(config.EXCHANGE_FAILPOINTS, config.EXCHANGE_FAILPOINT_FILE);
  }
  return openBackbone(config, 'exchange-operator', createLog('silent'), operatorPatience);
};
