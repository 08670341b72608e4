import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly source: string;
}

export interface MailServer {
  readonly port: number;
  readonly received: readonly ReceivedMail[];
  /** Names of the users that signed in, and whether the connection used TLS then. */
  readonly logins: readonly { readonly user: string; readonly isTls: boolean }[];
  /** Connections that are open. */
  readonly open: () => number;
  /** Ends all connections at once, as a killed process does. */
  stop(): Promise<void>;
}

export interface MailServerBehaviour extends Omit<SMTPServerOptions, 'onData'> {
  readonly port?: number;
  /** Called when the whole mail has arrived, before the answer. The mail counts as received then. */
  readonly onMail?: (mail: ReceivedMail, answer: (error?: Error) => void) => void;
}

/** @throws Error as the answer of the server: `responseCode` is its code */
export const refusal = (responseCode: number, message: string): Error =>
  Object.assign(new Error(message), { responseCode });

/** A mail server that accepts everything, unless the test gives it another behaviour. */
export const startMailServer = async ({
  port = 0,
  onMail = (_mail, answer) => answer(),
  ...options
}: MailServerBehaviour = {}): Promise<MailServer> => {
  const received: ReceivedMail[] = [];
  const logins: { user: string; isTls: boolean }[] = [];
  const sockets = new Set<Socket>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    onAuth: (login, session, done) => {
      logins.push({ user: login.username ?? '', isTls: session.secure });
      done(null, { user: login.username });
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const mail = {
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          source: Buffer.concat(chunks).toString(),
        };
        received.push(mail);
        onMail(mail, done);
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(port, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    logins,
    open: () => sockets.size,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
};
