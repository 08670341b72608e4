import { createHash, randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the ports that systems give to outgoing connections: one of those could take ours while Postgres is
 * down, even a client's own, which then talks to itself.
 */
const FIRST = 18_000;
const COUNT = 14_000;

/**
 * Where Postgres may listen: the port it had, so that running clients find it again; then one that is the
 * same at every start; then any.
 */
export const choosePort = async (dataDirectory: string, last: number | undefined): Promise<number> => {
  const usual = FIRST + (createHash('sha256').update(dataDirectory).digest().readUInt32BE() % COUNT);
  const others = Array.from({ length: 20 }, () => randomInt(FIRST, FIRST + COUNT));
  for (const port of [last ?? usual, usual, ...others]) {
    if (await isPortFree(port)) return port;
  }
  throw new Error(`no free port between ${FIRST} and ${FIRST + COUNT} on 127.0.0.1`);
};

/** Whether Postgres could listen there on 127.0.0.1 now. */
export const isPortFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
