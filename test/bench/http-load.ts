import { connect, type Socket } from 'node:net';

export interface LoadOptions {
  /** The server's port. With several, connections are distributed in rotation. */
  readonly port: number | readonly number[];
  /** Kept-alive connections, each with one request in flight. */
  readonly connections: number;
  /** 0: one request on each connection. */
  readonly seconds: number;
  /** The raw request. Called for each one, so that bodies can differ. */
  readonly request: () => string;
}

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  /** Answers that were neither 2xx nor 304. Any such answer invalidates a benchmark. */
  readonly failed: number;
  /** Distinct statuses of failed answers. */
  readonly failedWith: readonly number[];
}

/** A raw HTTP/1.1 request with or without a JSON body. */
export const rawRequest = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): string => {
  const lines = Object.entries({ Host: 'localhost', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const length = body === '' && method === 'GET' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}${length}\r\n${body}`;
};

/**
 * Loads a server over loopback with raw sockets: a full HTTP client costs more than these servers and would measure
 * itself.
 */
export const httpLoad = async ({ port, connections, seconds, request }: LoadOptions): Promise<LoadResult> => {
  const latencies: number[] = [];
  let failed = 0;
  const failedWith = new Set<number>();
  const end = performance.now() + seconds * 1000;
  const started = performance.now();
  const ports = typeof port === 'number' ? [port] : port;
  await Promise.all(
    Array.from({ length: connections }, async (_, n) => {
      const socket = await open(ports[n % ports.length] ?? 0);
      do {
        const sent = performance.now();
        const status = await exchange(socket, request());
        latencies.push(performance.now() - sent);
        if ((status < 200 || status > 299) && status !== 304) {
          failed++;
          failedWith.add(status);
        }
      } while (performance.now() < end);
      socket.destroy();
    }),
  );
  const elapsedSeconds = (performance.now() - started) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (quantile: number): number => latencies[Math.floor(latencies.length * quantile)] ?? 0;
  const requests = latencies.length;
  const [p50Ms, p99Ms] = [at(0.5), at(0.99)];
  return {
    requests,
    perSecond: requests / elapsedSeconds,
    p50Ms,
    p99Ms,
    longestMs: latencies.at(-1) ?? 0,
    failed,
    failedWith: [...failedWith],
  };
};

/** One kept-alive connection for sequential requests. */
export interface Connection {
  send(request: string): Promise<{ readonly status: number; readonly body: string }>;
  close(): void;
}

export const openConnection = async (port: number): Promise<Connection> => {
  const socket = await open(port);
  return {
    send: async (request) => {
      const chunks: Buffer[] = [];
      const status = await exchange(socket, request, chunks);
      const answer = Buffer.concat(chunks);
      return { status, body: answer.toString('utf8', answer.indexOf('\r\n\r\n') + 4) };
    },
    close: () => socket.destroy(),
  };
};

const open = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });

/**
 * Sends one request and waits for its complete answer. Understands only the form of answers that these servers send.
 * @param chunks receives the answer's bytes with its head
 */
const exchange = (socket: Socket, request: string, chunks?: Buffer[]): Promise<number> =>
  new Promise((resolve, reject) => {
    let head = '';
    let missing = -1;
    const onData = (chunk: Buffer): void => {
      chunks?.push(chunk);
      if (missing < 0) {
        head += chunk.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        const length = /content-length: (\d+)/i.exec(head.slice(0, end));
        missing = Number(length?.[1] ?? 0) - (head.length - end - 4);
      } else {
        missing -= chunk.length;
      }
      if (missing > 0) return;
      socket.off('data', onData).off('close', onClose);
      resolve(Number(head.slice(9, 12)));
    };
    const onClose = (): void => reject(new Error('the server closed the connection'));
    socket.on('data', onData).once('close', onClose);
    socket.write(request);
  });
