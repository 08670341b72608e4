import { CommanderError } from 'commander';
import { openInstallation, type Installation } from '../app/installation.ts';
import { isConfigError, readConfig, type Config } from '../app/config.ts';
import { armFailpoints } from '../shared/async/failpoints.ts';
import { createLog } from '../app/log.ts';
import { operatorStoreTimeouts } from '../app/store-timeouts.ts';
import { createProgram } from './program.ts';
import { withProgressBar } from './progress-bar.ts';
import { ArgumentsError } from './parse-args.ts';

export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: NodeJS.WritableStream & { readonly columns?: number };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
}

const HELP_WIDTH = 120;

/** @returns the exit status 0, 1 or 2 */
export const runCommand = async (
  argv: readonly string[],
  { environment, stdout, stderr }: Terminal,
): Promise<number> => {
  let opened: Promise<Installation> | undefined;
  let status: 0 | 1 = 0;
  const config = (): Config => readConfig(environment);
  const isJson = (): boolean => program.opts()['json'] === true;
  const program = createProgram(
    {
      config,
      installation: async () => {
        opened ??= open(config());
        const installation = await opened;
        await installation.migrate();
        return installation;
      },
      isJson,
      print: (value, text) => {
        const line = isJson() ? JSON.stringify(value) : text;
        if (line !== undefined) stdout.write(`${line}\n`);
      },
      remark: (text) => stderr.write(`${text}\n`),
      withProgress: (label, work) => withProgressBar(label, stderr, work),
      fail: () => {
        status = 1;
      },
    },
    {
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHelpWidth: () => stdout.columns ?? HELP_WIDTH,
      getErrHelpWidth: () => stderr.columns ?? HELP_WIDTH,
    },
  );
  let command = program;
  program.hook('preAction', (_, acting) => {
    command = acting as typeof program;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return status;
  } catch (error) {
    // Commander has already printed the help or the error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    stderr.write(`${messageOf(error)}\n`);
    const isArgumentError = error instanceof ArgumentsError;
    if (isArgumentError) command.outputHelp({ error: true });
    return isArgumentError || isConfigError(error) || command.isQuestion ? 2 : 1;
  } finally {
    await (await opened?.catch(() => undefined))?.close();
  }
};

/** A connection error to a host with several addresses has an empty message. */
const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
};

const open = (config: Config): Promise<Installation> => {
  if (config.EXCHANGE_FAILPOINTS !== undefined) {
    armFailpoints(config.EXCHANGE_FAILPOINTS, config.EXCHANGE_FAILPOINT_FILE);
  }
  return openInstallation(config, 'exchange-operator', createLog('silent'), operatorStoreTimeouts);
};
