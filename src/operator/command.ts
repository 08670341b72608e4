import type { parseArgs } from 'node:util';
import type { Backbone } from '../composition.ts';
import type { Config } from '../shared/config.ts';
import type { ProgressLine } from './event-move/progress-line.ts';
import { WordsError } from './words.ts';

/**
 * What a command of the operator is. Help, `--json`, the reading of options and exit statuses are made of it for all
 * commands alike (`run-command.ts`); the list of them is `all-commands.ts`.
 */

/** What a command tells: there is no text without the value that `--json` prints, one object a line. */
export interface Told {
  readonly value: object;
  /** The same for people; undefined: nothing worth saying. */
  readonly text: string | undefined;
}

/** What a command works with. */
export interface Tools {
  /** The settings. @throws ConfigError */
  readonly config: () => Config;
  /** The installation that they name, migrated; opened when it is first asked for. @throws ConfigError */
  readonly backbone: () => Promise<Backbone>;
  /** How far it is: for people, on standard error. */
  readonly progress: (label: string) => ProgressLine;
  /** What people should know besides: on standard error. */
  readonly remark: (text: string) => void;
}

/** `amiss`: exit status 1, with what was told. */
export type Ending = 'amiss' | undefined;

/** What a command does once its words are understood. */
export type Work = (tools: Tools) => AsyncGenerator<Told, Ending>;

interface Option {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  readonly default?: boolean;
  /** In the help: the value of a string. */
  readonly value?: string;
  /** The command makes no sense without it. */
  readonly needed?: boolean;
  /** In the help, on lines of its own. */
  readonly about?: string;
}
export type Options = Readonly<Record<string, Option>>;

type Given<O extends Options> = ReturnType<
  typeof parseArgs<{ options: O; allowPositionals: true }>
>['values'];

/** What each exit status means; those that are left out mean what they mean of every command (`STATUSES`). */
type Statuses = Partial<Readonly<Record<0 | 1 | 2, string>>>;

export const STATUSES = {
  0: 'done',
  1: 'it could not be done',
  2: 'the words or the settings are wrong',
} as const;

interface Described {
  /** Its first words, e.g. `accounts create`. */
  readonly name: string;
  /** Words that follow, all of them needed. */
  readonly places: readonly string[];
  /** What may follow those, any number of times. */
  readonly more?: string;
  readonly about: string;
  readonly statuses?: Statuses;
  /** Its answer is whether something is right: what keeps it from finding out is status 2, and 1 is an answer. */
  readonly isQuestion?: boolean;
}

export interface Command extends Described {
  readonly options: Options;
  /** @param given as `options` has it parsed @throws WordsError */
  readonly understand: (words: readonly string[], given: unknown) => Work;
}

/** @param definition its `understand` gets as many words as there are places, and options with what is needed */
export const command = <const O extends Options>(
  definition: Described & {
    readonly options?: O;
    readonly understand: (words: readonly string[], given: Given<O>) => Work;
  },
): Command => ({
  ...definition,
  options: definition.options ?? {},
  understand: (words, given) => {
    const { places, more } = definition;
    if (words.length < places.length) throw new WordsError(`it needs ${places.join(' and ')}`);
    const extra = more === undefined ? words[places.length] : undefined;
    if (extra !== undefined) throw new WordsError(`what is ${JSON.stringify(extra)}?`);
    // Parsed by `options`, which are O.
    const values = given as Given<O>;
    const options: Options = definition.options ?? {};
    for (const [option, { needed }] of Object.entries(options)) {
      if (needed === true && (values as Readonly<Record<string, unknown>>)[option] === undefined)
        throw new WordsError(`--${option} is needed`);
    }
    return definition.understand(words, values);
  },
});

/** For a command that does one thing, and tells one. */
export const telling = (work: (tools: Tools) => Promise<Told>): Work =>
  async function* (tools) {
    yield await work(tools);
    return undefined;
  };
