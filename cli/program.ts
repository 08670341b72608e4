import type { OutputConfiguration } from 'commander';
import { addAccountCommands } from './account-commands.ts';
import { OperatorCommand, type Tools } from './command.ts';
import { addConfigCommand } from './config-command.ts';
import { addEventCommands } from './events-commands.ts';
import { addForgetCommand } from './forget-command.ts';
import { addHistoryCommand } from './history-command.ts';
import { addLogCommands } from './log-commands.ts';
import { addParkedCommands } from './parked-commands.ts';
import { addReadModelCommands } from './read-model-commands.ts';
import { addSecretCommands } from './secrets.ts';
import { addSellerCommands } from './seller-commands.ts';
import { addSyndicationCommand } from './syndication-command.ts';
import { addWorkCommand } from './work-command.ts';
import { ArgumentsError } from './parse-args.ts';

const NOTES = `
Standard output with --json is JSON and nothing else, one object a line. Lists print one line per
item, sequential work prints one line per finished step, and everything else prints one line. Progress and errors are
on standard error.

A STORE is postgres://..., esdb://..., esdb+discover://..., or embedded: the Postgres of DATA_DIR.
The settings of the service (DATABASE_URL, DATA_DIR, ...) apply here too.`;

/**
 * Builds the command line, with commands in the order of the help.
 * @param output receives help and errors. Commander throws CommanderError instead of ending the process.
 */
export const createProgram = (tools: Tools, output: OutputConfiguration): OperatorCommand => {
  const program = new OperatorCommand('npm run -s exchange --')
    .configureOutput(output)
    .configureHelp({
      showGlobalOptions: true,
      subcommandTerm: (command) => {
        const verbs = command.commands.map((one) => one.name()).join('|');
        return `${command.name()} ${verbs === '' ? command.usage() : verbs}`;
      },
    })
    .exitOverride()
    .showHelpAfterError()
    .option('--json', 'JSON for programs, one object a line')
    .addHelpText('after', NOTES)
    .addHelpText('afterAll', ({ command }) => statusText(command as OperatorCommand));
  addAccountCommands(program, tools);
  addSellerCommands(program, tools);
  addParkedCommands(program, tools);
  addReadModelCommands(program, tools);
  addLogCommands(program, tools);
  addEventCommands(program, tools);
  addSecretCommands(program, tools);
  addForgetCommand(program, tools);
  addSyndicationCommand(program, tools);
  addWorkCommand(program, tools);
  addHistoryCommand(program, tools);
  addConfigCommand(program, tools);
  addHelpCommand(program, tools);
  return program;
};

const statusText = ({ statuses }: OperatorCommand): string => {
  const meanings = Object.entries(statuses).map(([status, meaning]) => `${status}: ${meaning}`);
  return `\nExit status ${meanings.join('; ')}.`;
};

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
  const { registeredArguments, options, statuses } = command;
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
    statuses,
  };
};
