import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Random } from './random.ts';

type Fault = 'cut' | 'cut-before' | 'cut-after' | 'stall';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** The fault for bytes in transit. */
  fault: Fault | undefined;
}

export interface TcpProxy {
  readonly port: number;
  /** Connections that were cut or stalled. */
  readonly faults: number;
  /** Pieces that clients have sent. The driver of Postgres sends each statement as one. */
  readonly sent: number;
  /**
   * Injects a fault into one connection: cuts it now, before a request or after it (the reply is lost), or stalls it
   * for a while.
   */
  injectFault(random: Random): void;
  /** Stops all bytes until `flow`, without cutting connections. */
  freeze(): void;
  flow(): void;
  /** Refuses and cuts all connections until `up`. */
  down(): void;
  up(): void;
  close(): Promise<void>;
}

const STALL_MS_MAX = 1_500;

/** A proxy to a TCP server that can cut, stall and refuse connections. */
export const startTcpProxy = async (target: { host: string; port: number }): Promise<TcpProxy> => {
  const links = new Set<Link>();
  let faults = 0;
  let sent = 0;
  let isFrozen = false;
  let isDown = false;

  const server = createServer((client) => {
    if (isDown) {
      client.destroy();
      return;
    }
    const upstream = connect({ ...target, noDelay: true });
    client.setNoDelay(true);
    const link: Link = { client, server: upstream, fault: undefined };
    links.add(link);
    const cut = (): void => {
      links.delete(link);
      client.destroy();
      upstream.destroy();
    };
    client.on('data', (chunk: Buffer) => {
      sent += 1;
      if (link.fault === 'cut-before') cut();
      else upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (link.fault === 'cut-after') cut();
      else client.write(chunk);
    });
    if (isFrozen) pause(link);
    for (const socket of [client, upstream]) socket.on('error', cut).on('close', cut);
  });

  const pause = ({ client, server: upstream }: Link): void => {
    client.pause();
    upstream.pause();
  };
  const resume = ({ client, server: upstream }: Link): void => {
    client.resume();
    upstream.resume();
  };
  const cutAll = (): void => {
    for (const { client } of links) client.destroy();
  };

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get faults() {
      return faults;
    },
    get sent() {
      return sent;
    },
    injectFault: (random) => {
      const link = random.pick([...links]);
      if (link === undefined) return;
      const fault = random.pick(['cut', 'cut-before', 'cut-after', 'cut-after', 'stall'] as const);
      faults++;
      if (fault === 'cut') link.client.destroy();
      else if (fault !== 'stall') link.fault = fault;
      else {
        pause(link);
        setTimeout(() => resume(link), random.below(STALL_MS_MAX));
      }
    },
    freeze: () => {
      isFrozen = true;
      links.forEach(pause);
    },
    flow: () => {
      isFrozen = false;
      links.forEach(resume);
    },
    down: () => {
      isDown = true;
      cutAll();
    },
    up: () => {
      isDown = false;
    },
    close: async () => {
      cutAll();
      server.close();
      await once(server, 'close');
    },
  };
};

/** The URL of the store through the proxy. */
export const throughProxy = (storeUrl: string, { port }: TcpProxy): string => {
  const url = new URL(storeUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.href;
};

/** The address of a store's server. Without a port it is Postgres' default. */
export const addressOf = (storeUrl: string): { host: string; port: number } => {
  const { hostname, port } = new URL(storeUrl);
  return { host: hostname, port: Number(port === '' ? 5432 : port) };
};
