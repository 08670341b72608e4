import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FailedCredentials } from '../limits/failed-credentials.ts';
import type { Limiter, Standing } from '../limits/limiter.ts';

interface LastCredential {
  /** Contains the secret; kept only while the connection is open. */
  readonly authorization: string;
  readonly isKey: boolean;
  readonly subject: string;
}

export interface CountAhead {
  begin(
    request: IncomingMessage,
    address: string,
  ): { readonly subject: string; readonly standing: Promise<Standing> } | undefined;
  remember(request: IncomingMessage, isKey: boolean, subject: string): void;
  forget(request: IncomingMessage): void;
}

/**
 * Counts during the lookup if the same credential verified before on this connection: a caller without the
 * secret cannot cause counts for it.
 */
export const createCountAhead = (limiter: Limiter, failedCredentials: FailedCredentials): CountAhead => {
  const verifiedLast = new WeakMap<Socket, LastCredential>();
  return {
    begin: ({ socket, headers }, address) => {
      const last = verifiedLast.get(socket);
      if (last === undefined || last.authorization !== headers.authorization) return undefined;
      const { isKey, subject } = last;
      if (isKey && !failedCredentials.isKnown(address, subject)) return undefined;
      return { subject, standing: limiter.count('credential', subject) };
    },
    remember: ({ socket, headers: { authorization = '' } }, isKey, subject) => {
      if (verifiedLast.get(socket)?.authorization === authorization) return;
      verifiedLast.set(socket, { authorization, isKey, subject });
    },
    forget: ({ socket }) => {
      verifiedLast.delete(socket);
    },
  };
};
