import type { Logger } from 'pino';
import { notificationBody, type KeptNotification } from '../../../domain/notifications/body.ts';
import { EventStoreUnavailableError } from '../../../shared/event-store/event-store.ts';

/** The bytes to sign and send. A promise only if something must be read. */
export type BodyOf = (
  customerId: number,
  message: KeptNotification,
  payload: string,
) => Buffer | Promise<Buffer>;

export interface MessageBodyOptions {
  readonly baseUrl: () => string;
  /** As the link of the message answers; undefined if it shows nothing. */
  readonly readResource: (customerId: number, message: KeptNotification) => Promise<unknown>;
  readonly log: Pick<Logger, 'warn'>;
}

/** Receivers of the published SDK read no more. */
const BYTES_MAX = 10_000;

const bytesOf = (body: object): Buffer => Buffer.from(JSON.stringify(body));

/**
 * A resource that cannot be read, e.g. because of an event of a later version, is left out: the subscription's other
 * deliveries must not wait behind this one.
 */
const readUnlessBroken = (
  { readResource, log }: MessageBodyOptions,
  customerId: number,
  message: KeptNotification,
): Promise<unknown> =>
  readResource(customerId, message).catch((error: unknown) => {
    if (error instanceof EventStoreUnavailableError) throw error;
    log.warn({ err: error, customerId, message: message.id }, 'a webhook is sent without its resource');
    return undefined;
  });

/** The body's bytes. @throws EventStoreUnavailableError */
export const createBodyOf = (options: MessageBodyOptions): BodyOf => {
  const { baseUrl } = options;
  const fullBody = async (customerId: number, message: KeptNotification): Promise<Buffer> => {
    const thin = notificationBody(message, baseUrl());
    const object = await readUnlessBroken(options, customerId, message);
    if (object !== undefined) {
      const full = bytesOf({ ...thin, data: { ...thin.data, object } });
      if (full.length <= BYTES_MAX) return full;
    }
    return bytesOf({ ...thin, data: { ...thin.data, objectOmitted: true } });
  };
  return (customerId, message, payload) =>
    payload === 'full' ? fullBody(customerId, message) : bytesOf(notificationBody(message, baseUrl()));
};
