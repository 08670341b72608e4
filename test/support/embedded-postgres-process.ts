import { createLog } from '../../app/log.ts';
import { startEmbeddedPostgres } from '../../shared/postgres/embedded/embedded-postgres.ts';

/** A process that uses the embedded Postgres in a given folder until its standard input ends. */
const postgres = await startEmbeddedPostgres({ dataDir: process.argv[2] ?? '', log: createLog('silent') });
process.stdout.write(`${JSON.stringify({ url: postgres.url })}\n`);
for await (const chunk of process.stdin) void chunk;
await postgres.stop();
