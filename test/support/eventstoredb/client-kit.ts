import { randomUUID } from 'node:crypto';
import {
  type EventStoreDBClient,
  jsonEvent,
  type AllStreamSubscription,
  type AppendExpectedRevision,
  type AppendResult,
  type JSONEventType,
  type Position,
  type ResolvedEvent,
  type StreamSubscription,
} from '@eventstore/db-client';

export const event = (
  overrides: { id?: string; type?: string; data?: Record<string, string | number> } = {},
) => jsonEvent({ id: randomUUID(), type: 'SampleRecorded', data: { n: 1 }, ...overrides });

export const events = (count: number) => Array.from({ length: count }, () => event());

let streams = 0;
export const newStream = (category = 'sample'): string => `${category}-${process.pid}-${(streams += 1)}`;

/** The two ways of a client's append. With credentials, the client uses the unary call. */
export type Path = 'batch' | 'unary';

export const append = (
  client: EventStoreDBClient,
  stream: string,
  appended: readonly ReturnType<typeof event>[],
  expectedRevision: AppendExpectedRevision,
  path: Path = 'batch',
): Promise<AppendResult> =>
  client.appendToStream(stream, [...appended], {
    expectedRevision,
    ...(path === 'unary' ? { credentials: { username: 'a', password: 'b' } } : {}),
  });

/** `dispose` ends open calls, but only closing the channel ends the connection. */
export const disconnect = async (client: EventStoreDBClient): Promise<void> => {
  await client.dispose();
  const inner = client as unknown as { getChannel(): Promise<{ close(): void }> };
  (await inner.getChannel()).close();
};

export const toArray = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};

type AnySubscription = AllStreamSubscription | StreamSubscription;

/** The observed events of a subscription, in order, and its end. */
export interface Watch {
  readonly seen: readonly ('confirmation' | 'caughtUp' | ResolvedEvent<JSONEventType>)[];
  readonly events: readonly ResolvedEvent<JSONEventType>[];
  /** Resolves with the error, or with `end`. */
  readonly ended: Promise<unknown>;
}

export const watch = (subscription: AnySubscription): Watch => {
  const seen: Watch['seen'][number][] = [];
  const received: ResolvedEvent<JSONEventType>[] = [];
  const ended = new Promise<unknown>((resolve) => {
    subscription.on('error', resolve).on('end', () => resolve('end'));
  });
  subscription
    .on('confirmation', () => seen.push('confirmation'))
    .on('caughtUp', () => seen.push('caughtUp'))
    .on('data', (resolved: ResolvedEvent<JSONEventType>) => {
      seen.push(resolved);
      received.push(resolved);
    });
  return { seen, events: received, ended };
};

/** Long enough for a busy machine, but below a test's timeout. */
const UNTIL_MS_MAX = 45_000;

/** Waits until a condition holds. @throws Error after `UNTIL_MS_MAX` */
export const until = async (holds: () => boolean): Promise<void> => {
  for (const start = Date.now(); !holds();) {
    if (Date.now() - start > UNTIL_MS_MAX)
      throw new Error(`The condition did not hold within ${UNTIL_MS_MAX} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

/** The position of a resolved event. @throws Error if it has none */
export const positionOf = (
  resolved: { readonly event?: { readonly position?: Position } } | undefined,
): Position => {
  const position = resolved?.event?.position;
  if (position === undefined) throw new Error('An event without a position.');
  return position;
};
