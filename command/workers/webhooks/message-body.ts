import { notificationBody, type KeptNotification } from '../../../domain/notifications/body.ts';

/** The bytes to sign and send. */
export type BodyOf = (customerId: number, message: KeptNotification, payload: string) => Promise<Buffer>;

export interface MessageBodyOptions {
  readonly baseUrl: () => string;
  /** As the API showed it after the event; undefined if it shows nothing. */
  readonly readResource: (
    customerId: number,
    message: Pick<KeptNotification, 'path' | 'revision'>,
  ) => Promise<unknown>;
}

/** Receivers of the published SDK read no more. */
const BYTES_MAX = 10_000;

const bytesOf = (body: object): Buffer => Buffer.from(JSON.stringify(body));

export const createBodyOf =
  ({ baseUrl, readResource }: MessageBodyOptions): BodyOf =>
  async (customerId, message, payload) => {
    const thin = notificationBody(message, baseUrl());
    if (payload !== 'full') return bytesOf(thin);
    const object = await readResource(customerId, message);
    if (object !== undefined) {
      const full = bytesOf({ ...thin, data: { ...thin.data, object } });
      if (full.length <= BYTES_MAX) return full;
    }
    return bytesOf({ ...thin, data: { ...thin.data, objectOmitted: true } });
  };
