import { Command } from 'commander';
import type { Backbone } from '../app/composition.ts';
import type { Config } from '../app/config.ts';

/** What a command of the operator works with, and what `commander` does not know of it: exit statuses. */

export interface Progress {
  /** So far, since the first run; left out where they are not counted. */
  readonly events?: number;
  /** Of the whole, 0 to 1. */
  readonly fraction: number;
}

export interface Tools {
  /** The settings. @throws ConfigError */
  readonly config: () => Config;
  /** The installation that they name, migrated; opened at the first call. @throws ConfigError */
  readonly backbone: () => Promise<Backbone>;
  /** Whether programs read standard output (`--json`). */
  readonly isJson: () => boolean;
  /**
   * Prints a result on standard output.
   * @param value with `--json`: one line
   * @param text the same for people; undefined: nothing
   */
  readonly print: (value: object, text: string | undefined) => void;
  /** For people, on standard error. */
  readonly remark: (text: string) => void;
  /** Shows on standard error how far the work is. */
  readonly withProgress: <T>(
    label: string,
    work: (onProgress: (progress: Progress) => void) => Promise<T>,
  ) => Promise<T>;
  /** Lets the command end with exit status 1: what it printed is not as it should be. */
  readonly fail: () => void;
}

const STATUSES = {
  0: 'done',
  1: 'it could not be done',
  2: 'the arguments or the settings are wrong',
} as const;
type Statuses = Readonly<Record<keyof typeof STATUSES, string>>;

export class OperatorCommand extends Command {
  declare readonly commands: readonly OperatorCommand[];
  declare readonly parent: OperatorCommand | null;
  statuses: Statuses = STATUSES;
  /** Its answer is whether something is right: 1 is an answer, and any failure is 2. */
  isQuestion = false;

  override createCommand(name?: string): OperatorCommand {
    return new OperatorCommand(name);
  }

  /** @param statuses what each means where it is not what it means of every command */
  exits(statuses: Partial<Statuses>): this {
    this.statuses = { ...STATUSES, ...statuses };
    this.isQuestion = statuses[2] !== undefined;
    return this;
  }

  /** All its words, e.g. `accounts create`. */
  words(): string {
    return this.parent === null ? '' : `${this.parent.words()} ${this.name()}`.trim();
  }

  /** The commands below it that do something. */
  leaves(): readonly OperatorCommand[] {
    return this.commands.flatMap((one) => (one.commands.length === 0 ? [one] : one.leaves()));
  }
}
