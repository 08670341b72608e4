import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sleep } from '../../../shared/async/backoff.ts';

export interface Balancer {
  readonly port: number;
  /** How often a node was removed. */
  readonly takenOut: number;
  close(): Promise<void>;
}

interface Node {
  readonly port: number;
  readonly agent: Agent;
  isIn: boolean;
}

const CHECK_EVERY_MS = 100;

/**
 * A load balancer as in production. It polls each node's `/ready`, and removes a node that is not ready or that answers
 * `Connection: close`. It tries the next node only if no connection was established, so that no part of the request can
 * have arrived.
 */
export const startBalancer = async (ports: readonly number[]): Promise<Balancer> => {
  const nodes: readonly Node[] = ports.map((port) => ({
    port,
    agent: new Agent({ keepAlive: true }),
    isIn: false,
  }));
  const ending = new AbortController();
  let turn = 0;
  let takenOut = 0;
  const takeOut = (node: Node): void => {
    if (node.isIn) takenOut += 1;
    node.isIn = false;
  };

  const forward = (from: IncomingMessage, to: ServerResponse, body: Buffer, tries: number): void => {
    const candidates = nodes.filter(({ isIn }) => isIn);
    turn += 1;
    const node = candidates[turn % Math.max(1, candidates.length)];
    if (node === undefined || tries === 0) {
      to.writeHead(502).end('no node is available');
      return;
    }
    const { method, url = '/' } = from;
    const { connection: _, ...headers } = from.headers;
    const sent = request(
      { port: node.port, host: '127.0.0.1', agent: node.agent, method, path: url, headers },
      (answer) => {
        if (answer.headers.connection === 'close') takeOut(node);
        const { connection: __, ...kept } = answer.headers;
        to.writeHead(answer.statusCode ?? 502, kept);
        answer.pipe(to);
      },
    );
    sent.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') {
        takeOut(node);
        forward(from, to, body, tries - 1);
      } else if (!to.headersSent) to.writeHead(502).end(`${error.code ?? 'error'} of port ${node.port}`);
      else to.destroy();
    });
    sent.end(body);
  };

  const check = async (node: Node): Promise<void> => {
    while (!ending.signal.aborted) {
      const answer = await fetch(`http://127.0.0.1:${node.port}/ready`).catch(() => undefined);
      await answer?.text();
      if (answer?.status === 200) node.isIn = true;
      else takeOut(node);
      await sleep(CHECK_EVERY_MS, ending.signal);
    }
  };

  const server = createServer((from, to) => {
    const pieces: Buffer[] = [];
    from.on('data', (piece: Buffer) => pieces.push(piece));
    from.on('end', () => forward(from, to, Buffer.concat(pieces), nodes.length));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const checking = nodes.map(check);
  return {
    port: (server.address() as AddressInfo).port,
    get takenOut() {
      return takenOut;
    },
    close: async () => {
      ending.abort();
      await Promise.all(checking);
      server.closeAllConnections();
      server.close();
      for (const { agent } of nodes) agent.destroy();
    },
  };
};
