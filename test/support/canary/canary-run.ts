import { randomBytes } from 'node:crypto';
import type { RunningService } from '../running-service.ts';

/** Secrets that are driven through a service, and where they may have come to. */
export interface CanaryRun {
  readonly service: RunningService;
  /** From here on it may be nowhere. Of a longer one the last 43 characters are the secret. @returns it as it is */
  mark(secret: string): string;
  /** What somebody was answered. @param shown what this answer, and no other, is for */
  saw(text: string, shown?: string): void;
  /** Looks into every store as it is now. */
  look(): Promise<void>;
  /** While it runs, appending to the event store fails. */
  whileAway(run: () => Promise<void>): Promise<void>;
  /** While it runs, there is no such table. */
  without(table: string, run: () => Promise<void>): Promise<void>;
}

const SECRET_CHARS = 43;

export const secretIn = (text: string): string => text.slice(-SECRET_CHARS);

/** 43 characters, of 256 random bits. */
export const newSecret = (start = ''): string => start + randomBytes(32).toString('base64url');

/** Status, headers and body of an answer. */
export const textOfAnswer = async (answer: Response): Promise<string> =>
  `${answer.status} ${answer.statusText} ${JSON.stringify([...answer.headers])} ${await answer.text()}`;
