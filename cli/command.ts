import { Command } from 'commander';
import type { Installation } from '../app/installation.ts';
import type { Config } from '../app/config.ts';

export interface Progress {
  /** Events processed since the first run; undefined when they are not counted. */
  readonly events?: number;
  /** 0 to 1. */
  readonly fraction: number;
  /** What is done now, for example `advertisers, 3 of 17`. Default: the label. */
  readonly phase?: string;
}

export type OnProgress = (progress: Progress) => void;

export interface Tools {
  readonly config: () => Config;
  /** Opens and migrates the configured installation at the first call. @throws ConfigError */
  readonly installation: () => Promise<Installation>;
  readonly isJson: () => boolean;
  /** @param value printed with `--json` @param text printed without it; undefined prints nothing */
  readonly print: (value: object, text: string | undefined) => void;
  readonly remark: (text: string) => void;
  readonly withProgress: <T>(label: string, work: (onProgress: OnProgress) => Promise<T>) => Promise<T>;
  /** Makes the command end with exit status 1 although it ran to its end. */
  readonly fail: () => void;
}

const STATUSES = {
  0: 'success',
  1: 'the command failed',
  2: 'the arguments or the settings are invalid',
} as const;
type Statuses = Readonly<Record<keyof typeof STATUSES, string>>;

export class OperatorCommand extends Command {
  declare readonly commands: readonly OperatorCommand[];
  declare readonly parent: OperatorCommand | null;
  statuses: Statuses = STATUSES;
  examples: readonly string[] = [];
  /** The command answers yes or no: status 1 means "no", so every failure is status 2. */
  isQuestion = false;

  override createCommand(name?: string): OperatorCommand {
    return new OperatorCommand(name);
  }

  exits(statuses: Partial<Statuses>): this {
    this.statuses = { ...STATUSES, ...statuses };
    this.isQuestion = statuses[2] !== undefined;
    return this;
  }

  example(...lines: readonly string[]): this {
    this.examples = lines;
    return this;
  }

  hint(): string {
    const words = `exchange ${this.words()}`.trim();
    return `Usage: ${`${words} ${this.usage()}`.trim()}\nMore: ${words} --help\n`;
  }

  words(): string {
    return this.parent === null ? '' : `${this.parent.words()} ${this.name()}`.trim();
  }

  leaves(): readonly OperatorCommand[] {
    return this.commands.flatMap((one) => (one.commands.length === 0 ? [one] : one.leaves()));
  }
}
