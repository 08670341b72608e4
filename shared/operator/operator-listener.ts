import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listenErrorOf } from '../http/listen-error.ts';
import { BOARD_PATH, createOperatorApp, type OperatorAppOptions } from './operator-app.ts';
import { openQueueBoard, type QueueBoard, type QueueBoardOptions } from './queue-board.ts';

export interface OperatorListenerOptions extends Pick<
  OperatorAppOptions,
  'registry' | 'logLevel' | 'readiness' | 'log'
> {
  readonly host: string;
  readonly port: number;
  /** Another port does as well: the operator chose none. */
  readonly anyPort: boolean;
  readonly board: Pick<QueueBoardOptions, 'store' | 'names'> | undefined;
}

export interface OperatorListener {
  readonly url: string;
  close(): Promise<void>;
}

const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

/** @throws ListenError */
export const startOperatorListener = async (options: OperatorListenerOptions): Promise<OperatorListener> => {
  const { host, port, anyPort, registry, logLevel, readiness, board, log } = options;
  let opened: Promise<QueueBoard> | undefined;
  const open = board && (() => (opened = openQueueBoard({ ...board, path: BOARD_PATH, log })));
  const anyHost = !LOOPBACK.includes(host);
  const server = createServer(
    createOperatorApp({ registry, logLevel, readiness, board: open, anyHost, log }),
  );
  try {
    await listen(server, host, port);
  } catch (error) {
    if (!anyPort || !isTaken(error))
      throw listenErrorOf(error as NodeJS.ErrnoException, host, port, 'OPERATOR_PORT');
    log.warn({ port }, 'the port for operators is taken, so another one is used');
    await listen(server, host, 0);
  }
  const { port: listening } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${listening}`,
    close: async () => {
      logLevel.close();
      server.close();
      server.closeAllConnections();
      await (await opened?.catch(() => undefined))?.close();
    },
  };
};

const isTaken = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EADDRINUSE';

const listen = async (server: Server, host: string, port: number): Promise<void> => {
  server.listen(port, host);
  await once(server, 'listening');
};
