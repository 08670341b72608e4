import { notificationBody, type KeptNotification } from '../../../domain/notifications/body.ts';

/** The bytes to sign and send. A promise only if something must be read. */
export type BodyOf = (
  customerId: number,
  message: KeptNotification,
  payload: string,
) => Buffer | Promise<Buffer>;

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

export const createBodyOf = ({ baseUrl, readResource }: MessageBodyOptions): BodyOf => {
  const fullBody = async (customerId: number, message: KeptNotification): Promise<Buffer> => {
    const thin = notificationBody(message, baseUrl());
    const object = await readResource(customerId, message);
    if (object !== undefined) {
      const full = bytesOf({ ...thin, data: { ...thin.data, object } });
      if (full.length <= BYTES_MAX) return full;
    }
    return bytesOf({ ...thin, data: { ...thin.data, objectOmitted: true } });
  };
  return (customerId, message, payload) =>
    payload === 'full' ? fullBody(customerId, message) : bytesOf(notificationBody(message, baseUrl()));
};
