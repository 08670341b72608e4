import { styleText } from 'node:util';
import { CommanderError } from 'commander';
import { openInstallation, type Installation } from '../app/installation.ts';
import { isConfigError, readConfig, type Config } from '../app/config.ts';
import { armFailpoints } from '../shared/async/failpoints.ts';
import { createLog } from '../app/log.ts';
import { problemText } from '../app/problem-text.ts';
import { operatorStoreTimeouts } from '../app/store-timeouts.ts';
import { createProgram } from './program.ts';
import { createProgressBars } from './progress-bar.ts';
import { ArgumentsError } from './parse-args.ts';

type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
}

const HELP_WIDTH_MAX = 120;
const helpWidth = ({ columns = HELP_WIDTH_MAX }: Output): number => Math.min(columns, HELP_WIDTH_MAX);
const hasColors = (stream: Output): boolean => styleText('bold', ' ', { stream }) !== ' ';

/** @returns the exit status 0, 1 or 2 */
export const runCommand = async (
  argv: readonly string[],
  { environment, stdout, stderr }: Terminal,
): Promise<number> => {
  let opened: Promise<Installation> | undefined;
  let status: 0 | 1 = 0;
  const config = (): Config => readConfig(environment);
  const isJson = (): boolean => program.opts()['json'] === true;
  const { withProgress, writeAbove } = createProgressBars(stderr);
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
        if (line !== undefined) writeAbove(() => stdout.write(`${line}\n`));
      },
      remark: (text) => writeAbove(() => stderr.write(`${text}\n`)),
      withProgress,
      fail: () => {
        status = 1;
      },
    },
    {
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHelpWidth: () => helpWidth(stdout),
      getErrHelpWidth: () => helpWidth(stderr),
      getOutHasColors: () => hasColors(stdout),
      getErrHasColors: () => hasColors(stderr),
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
    stderr.write(`${styleText('red', problemText(error), { stream: stderr })}
`);
    const isArgumentError = error instanceof ArgumentsError;
    if (isArgumentError) stderr.write(command.hint());
    return isArgumentError || isConfigError(error) || command.isQuestion ? 2 : 1;
  } finally {
    await (await opened?.catch(() => undefined))?.close();
  }
};

const open = (config: Config): Promise<Installation> => {
  if (config.EXCHANGE_FAILPOINTS !== undefined) {
    armFailpoints(config.EXCHANGE_FAILPOINTS, config.EXCHANGE_FAILPOINT_FILE);
  }
  return openInstallation(config, 'exchange-operator', createLog('silent'), operatorStoreTimeouts);
};
