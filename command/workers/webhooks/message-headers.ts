import { signedHeaders, type Secrets } from './sign.ts';

export interface MessageAttempt {
  /** UUID of the notification. */
  readonly messageId: string;
  /** UUID. */
  readonly deliveryId: string;
  /** From 1. */
  readonly attempt: number;
  /** Seconds since 1970: of the attempt. */
  readonly timestamp: number;
  /** The bytes that are sent. */
  readonly body: Buffer;
}

const USER_AGENT = 'buyer-exchange/1';

/** The trace is the message's: all its attempts, at all endpoints. */
const traceparentOf = ({ messageId, deliveryId, attempt }: MessageAttempt): string => {
  const span = `${deliveryId.replaceAll('-', '').slice(0, 12)}${attempt.toString(16).padStart(4, '0')}`;
  return `00-${messageId.replaceAll('-', '')}-${span}-01`;
};

/** Every header of a webhook's request. */
export const messageHeaders = (
  secrets: Secrets,
  isBearer: boolean,
  attempt: MessageAttempt,
): Readonly<Record<string, string>> => ({
  'content-type': 'application/json',
  'user-agent': USER_AGENT,
  traceparent: traceparentOf(attempt),
  ...signedHeaders(secrets, isBearer, { ...attempt, id: `msg_${attempt.messageId}` }),
});
