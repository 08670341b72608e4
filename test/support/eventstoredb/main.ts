import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { startEventStoreService } from './event-store-service.ts';
import { runCommand } from './commands.ts';

/**
 * The in-memory EventStoreDB as a program of its own: `node main.js [--port N] [--max-append-size BYTES] [--attached]`.
 * A line of JSON on its input is a command, answered by a line (commands.ts); with `--attached` it ends with its input.
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    'max-append-size': { type: 'string' },
    attached: { type: 'boolean', default: false },
  },
});
const { port, 'max-append-size': maxAppendSize, attached } = values;
const options = {
  ...(port === undefined ? {} : { port: Number(port) }),
  ...(maxAppendSize === undefined ? {} : { maxAppendSize: Number(maxAppendSize) }),
};
let service = await startEventStoreService(options);
process.stdout.write(`serving at ${service.url}\n`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void service.close().then(() => process.exit(0));
  });
}
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await runCommand(service, line, async (log) => {
    await service.close();
    service = await startEventStoreService({ ...options, port: service.port, log });
    return service;
  });
  process.stdout.write(`${answer}\n`);
}
if (attached) await service.close();
