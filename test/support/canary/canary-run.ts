import { randomBytes } from 'node:crypto';
import type { RunningService } from '../running-service.ts';

/** Passes secrets through a service and collects every place in which they may appear. */
export interface CanaryRun {
  readonly service: RunningService;
  /**
   * From now on the secret must not appear anywhere. The last 43 characters of a longer text are the secret.
   * @returns the text
   */
  track(secret: string): string;
  /** Records an answer. @param shown the secret that only this answer may contain */
  recordAnswer(text: string, shown?: string): void;
  /** Searches every store in its present state. */
  searchStores(): Promise<void>;
  /** During `run`, appends to the event store fail. */
  withFailingStore(run: () => Promise<void>): Promise<void>;
  /** During `run`, the table does not exist. */
  withoutTable(table: string, run: () => Promise<void>): Promise<void>;
}

const SECRET_CHARS = 43;

export const secretIn = (text: string): string => text.slice(-SECRET_CHARS);

/** 43 characters with 256 random bits. */
export const newSecret = (start = ''): string => start + randomBytes(32).toString('base64url');

/** Status, headers and body of an answer. */
export const textOfAnswer = async (answer: Response): Promise<string> =>
  `${answer.status} ${answer.statusText} ${JSON.stringify([...answer.headers])} ${await answer.text()}`;
