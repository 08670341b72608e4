import { createHash, randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ephemeral ports: while Postgres is down, an outgoing connection could take its port. */
const FIRST = 18_000;
const COUNT = 14_000;

/** Prefers the last port, so that running clients find Postgres again. @throws Error if no port is free */
export const choosePort = async (dataDirectory: string, last: number | undefined): Promise<number> => {
  const usual = FIRST + (createHash('sha256').update(dataDirectory).digest().readUInt32BE() % COUNT);
  const others = Array.from({ length: 20 }, () => randomInt(FIRST, FIRST + COUNT));
  for (const port of [last ?? usual, usual, ...others]) {
    if (await isPortFree(port)) return port;
  }
  throw new Error(`no free port between ${FIRST} and ${FIRST + COUNT} on 127.0.0.1`);
};

export const isPortFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
