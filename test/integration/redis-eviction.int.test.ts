import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { Writable } from 'node:stream';
import { afterEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createRateLimits, type RateLimits } from '../../shared/limits/rate-limits.ts';
import { specifiedLimits } from '../../shared/limits/limits.ts';
import { until } from '../support/until.ts';

/** A server that answers like a Redis with the policy. */
const startRedisThatSays = async (policy: string): Promise<Server> => {
  const info = `# Memory\r\nused_memory:1\r\nmaxmemory_policy:${policy}\r\nloading:0\r\n`;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      const commands = chunk.toString().match(/\*\d+\r\n(?:\$\d+\r\n[^\r]*\r\n)+/g) ?? [];
      for (const command of commands) {
        const isInfo = /^\*\d+\r\n\$4\r\ninfo\r\n/i.test(command);
        socket.write(isInfo ? `$${Buffer.byteLength(info)}\r\n${info}\r\n` : '+OK\r\n');
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
};

let server: Server | undefined;
let rateLimits: RateLimits | undefined;
afterEach(async () => {
  await rateLimits?.close();
  server?.close();
});

it.each([
  ['allkeys-lru', 1],
  ['volatile-ttl', 1],
  ['noeviction', 0],
])('given the eviction policy %s, then the log contains %i warnings', async (policy, warnings) => {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
        done();
      },
    }),
  );
  server = await startRedisThatSays(policy);
  const { port } = server.address() as AddressInfo;
  rateLimits = createRateLimits({
    limits: specifiedLimits,
    nodes: 1,
    databaseUrl: '',
    redisUrl: `redis://127.0.0.1:${port}`,
    redisKeyPrefix: 'test:',
    log,
    registry: new Registry(),
  });
  const { check } = rateLimits.readiness;
  await until(async () => JSON.stringify((await check()).detail).includes(policy));
  const warned = lines.filter(({ evictionPolicy }) => evictionPolicy === policy);
  expect(warned).toHaveLength(warnings);
  for (const line of warned)
    expect(line).toMatchObject({ level: 50, msg: expect.stringContaining('noeviction') });
});
