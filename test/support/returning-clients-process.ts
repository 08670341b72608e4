/**
 * Clients in a separate process: `node returning-clients-process.js PORT CLIENTS PATH`. They reconnect to the same port
 * whenever the server ends their connection, until it refuses them. The process reports the outcomes to its parent.
 */
import { connect, type Socket } from 'node:net';
import { sleep } from '../../shared/async/backoff.ts';

export interface ClientReport {
  readonly answered: number;
  /** Clients whose connection was finally refused. */
  readonly refused: number;
  /** Local ports of connections that ended before their answer; 0 if the client never had one. */
  readonly lost: readonly number[];
}

const [, , port = '', clients = '', path = ''] = process.argv;
const lost: number[] = [];
let [answered, refused] = [0, 0];

type Outcome = 'answered' | 'connection closed' | 'refused' | 'lost';

const ask = (socket: Socket): Promise<Outcome> =>
  new Promise((resolve) => {
    let text = '';
    const settle = (outcome: Outcome): void => {
      socket.removeAllListeners().on('error', () => undefined);
      resolve(outcome);
    };
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const [head, length] = /^[^]*\r\ncontent-length: (\d+)\r\n[^]*?\r\n\r\n/i.exec(text) ?? [];
      if (head === undefined || text.length < head.length + Number(length)) return;
      settle(/\r\nconnection: close\r\n/i.test(head) ? 'connection closed' : 'answered');
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) =>
      settle(code === 'ECONNREFUSED' ? 'refused' : 'lost'),
    );
    socket.on('close', () => settle('lost'));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  });

/** @returns the outcome of the connection's last request */
const useUp = async (socket: Socket): Promise<Outcome> => {
  for (;;) {
    const outcome = await ask(socket);
    if (outcome === 'answered' || outcome === 'connection closed') answered += 1;
    if (outcome !== 'answered') return outcome;
  }
};

const client = async (): Promise<void> => {
  for (;;) {
    const socket = connect(Number(port), '127.0.0.1');
    let localPort = 0;
    socket.once('connect', () => {
      localPort = socket.localPort ?? 0;
    });
    const outcome = await useUp(socket);
    socket.destroy();
    if (outcome === 'refused') {
      refused += 1;
      return;
    }
    if (outcome === 'lost') {
      lost.push(localPort);
      await sleep(1);
    }
  }
};

await Promise.all(Array.from({ length: Number(clients) }, client));
process.send?.({ answered, refused, lost } satisfies ClientReport);
process.disconnect();
