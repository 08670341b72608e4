import { styleText } from 'node:util';
import type { Command, OutputConfiguration } from 'commander';
import { version } from '../app/version.ts';
import { addAccountCommands } from './account-commands.ts';
import { OperatorCommand, type Tools } from './command.ts';
import { addBackupCommands } from './backup-commands.ts';
import { addConfigCommand } from './config-command.ts';
import { addDoctorCommand } from './doctor-command.ts';
import { addEventCommands } from './events-commands.ts';
import { addForgetCommand } from './forget-command.ts';
import { addHistoryCommand } from './history-command.ts';
import { addListenCommand } from './listen-command.ts';
import { addLogCommands } from './log-commands.ts';
import { addMigrateCommand } from './migrate-command.ts';
import { addOAuthCommands } from './oauth-commands.ts';
import { addParkedCommands } from './parked-commands.ts';
import { addReadModelCommands } from './read-model-commands.ts';
import { addSecretCommands } from './secret-commands.ts';
import { addSellerCommands } from './seller-commands.ts';
import { addSyndicationCommand } from './syndication-command.ts';
import { addUserCommands } from './user-commands.ts';
import { addWorkCommand } from './work-command.ts';
import { ArgumentsError } from './parse-args.ts';

const HELP_WIDTH = 80;
/** Longest list of a command's verbs in the list of all commands. */
const VERBS_WIDTH = 36;

const NOTES = `
In a clone, a command is \`npx exchange COMMAND\`. The settings of the service (DATABASE_URL, DATA_DIR, ...) apply.

With --json, standard output is JSON and nothing else, one object a line. Lists print one line per item, sequential work prints one line per finished step, and everything else prints one line. Progress and errors are on standard error.

A STORE is postgres://..., esdb://..., esdb+discover://..., or embedded: the Postgres of DATA_DIR.`;

const bold = (text: string): string => styleText('bold', text, { validateStream: false });

/** Commands are in the order of the help. Commander throws CommanderError instead of ending the process. */
export const createProgram = (tools: Tools, output: OutputConfiguration): OperatorCommand => {
  const program = new OperatorCommand('exchange')
    .configureOutput(output)
    .configureHelp({
      showGlobalOptions: true,
      styleTitle: bold,
      minWidthToWrap: 20,
      subcommandTerm: (command) => {
        const all = verbsOf(command);
        const verbs =
          all.length > VERBS_WIDTH ? `${all.slice(0, all.lastIndexOf('|', VERBS_WIDTH))}|...` : all;
        return `${command.name()} ${verbs === '' ? command.usage().replace('[options]', '').trim() : verbs}`;
      },
    })
    .exitOverride()
    .description("Buyer Exchange: the operator's commands.")
    .option('--json', 'JSON for programs, one object a line')
    .version(version, '--version', 'print the version')
    .addHelpText('after', ({ command }) => wrapped(command, NOTES))
    .addHelpText('afterAll', ({ command }) => endOf(command as OperatorCommand))
    .example('doctor', 'accounts list', 'keys create 1 --name CI', 'history 1 /advertisers/7/history');
  addAccountCommands(program, tools);
  addUserCommands(program, tools);
  addOAuthCommands(program, tools);
  addSellerCommands(program, tools);
  addParkedCommands(program, tools);
  addReadModelCommands(program, tools);
  addLogCommands(program, tools);
  addEventCommands(program, tools);
  addBackupCommands(program, tools);
  addSecretCommands(program, tools);
  addForgetCommand(program, tools);
  addSyndicationCommand(program, tools);
  addWorkCommand(program, tools);
  addHistoryCommand(program, tools);
  addListenCommand(program, tools);
  addMigrateCommand(program, tools);
  addConfigCommand(program, tools);
  addDoctorCommand(program, tools);
  addHelpCommand(program, tools);
  giveHints(program);
  return program;
};

/** A group inside a group is shown with its verbs: `clients add|list|remove`. */
const verbsOf = ({ commands }: Command): string =>
  commands.map((one) => `${one.name()} ${verbsOf(one)}`.trim()).join('|');

const giveHints = (command: OperatorCommand): void => {
  command.showHelpAfterError(command.hint().trimEnd());
  for (const one of command.commands) giveHints(one);
};

const endOf = (command: OperatorCommand): string => {
  const { statuses, examples } = command;
  const meanings = Object.entries(statuses).map(([status, meaning]) => `  ${status}: ${meaning}`);
  const words = `exchange ${command.words()}`.trim();
  const lines = examples.map((example) => `  ${`${words} ${example}`.trim()}`);
  const ending = wrapped(command, ['', 'Exit status:', ...meanings].join('\n'));
  return [...(lines.length === 0 ? [] : ['', 'Examples:', ...lines]), ending].join('\n');
};

const wrapped = (command: Command, text: string): string =>
  command.createHelp().boxWrap(text, command.configureOutput().getOutHelpWidth?.() ?? HELP_WIDTH);

const addHelpCommand = (program: OperatorCommand, { print, isJson }: Tools): void => {
  program
    .command('help')
    .description('Shows this text, or the help of one command; with --json, one line per command.')
    .argument('[COMMAND...]')
    .action((words: readonly string[]) => {
      const found = words.reduce<OperatorCommand | undefined>(
        (at, word) => at?.commands.find((one) => one.name() === word),
        program,
      );
      if (found === undefined) throw new ArgumentsError(`there is no command ${words.join(' ')}`);
      if (!isJson()) found.outputHelp();
      else
        for (const one of found.commands.length === 0 ? [found] : found.leaves())
          print(helpValue(one), undefined);
    });
};

const helpValue = (command: OperatorCommand): object => {
  const { registeredArguments, options, statuses, examples } = command;
  const more = registeredArguments.find(({ variadic }) => variadic);
  return {
    command: command.words(),
    places: registeredArguments.filter(({ variadic }) => !variadic).map((one) => one.name()),
    ...(more !== undefined && { more: more.name() }),
    options: Object.fromEntries(
      options.map((option) => [
        option.long?.slice(2),
        {
          type: option.required ? 'string' : 'boolean',
          multiple: option.variadic,
          needed: option.mandatory,
          about: option.description,
        },
      ]),
    ),
    about: command.description(),
    examples: examples.map((example) => `${command.words()} ${example}`.trim()),
    statuses,
  };
};
