import { accountCommands } from './account-commands.ts';
import { command, telling, type Command } from './command.ts';
import { configCommand } from './config-command.ts';
import { eventCommands } from './events-commands.ts';
import { forgetCommand } from './forget-command.ts';
import { historyCommand } from './history-command.ts';
import { logCommands } from './log-commands.ts';
import { parkedCommands } from './parked-commands.ts';
import { readModelCommands } from './read-model-commands.ts';
import { reEncryptCommand } from './secrets.ts';
import { sellerCommands } from './seller-commands.ts';
import { helpValue, usageOf, usageOfOne } from './usage.ts';
import { WordsError } from './words.ts';

const commands: readonly Command[] = [
  ...accountCommands,
  ...sellerCommands,
  ...parkedCommands,
  ...readModelCommands,
  ...logCommands,
  ...eventCommands,
  reEncryptCommand,
  forgetCommand,
  historyCommand,
  configCommand,
];

const helpCommand = command({
  name: 'help',
  places: [],
  more: 'COMMAND',
  about: 'This text, or that of one command; with --json, a line for each.',
  understand: (words) => {
    const name = words.join(' ');
    const one = allCommands.find((other) => other.name === name);
    if (name !== '' && one === undefined) throw new WordsError(`there is no command ${name}`);
    if (one !== undefined) {
      return telling(async () => ({ value: helpValue(one), text: usageOfOne(one).trimEnd() }));
    }
    return async function* () {
      for (const [n, other] of allCommands.entries()) {
        yield { value: helpValue(other), text: n === 0 ? usageOf(allCommands).trimEnd() : undefined };
      }
      return undefined;
    };
  },
});

/** Every command, in the order of the help. */
export const allCommands: readonly Command[] = [...commands, helpCommand];
