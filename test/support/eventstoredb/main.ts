import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { startEventStoreService, type EventStoreService } from './event-store-service.ts';
import { runCommand } from './commands.ts';
import type { EventLog } from './event-log.ts';
import { openLogFile } from './log-file.ts';
import { createSend } from './peer-calls.ts';
import { createReplication, endPointOf } from './replication.ts';

/**
 * The in-memory EventStoreDB as a separate program: `node main.js [--port N] [--host ADDRESS] [--folder PATH]
 * [--max-append-size BYTES] [--attached] [--loses-every N] [--seeds HOST:PORT,...] [--advertise HOST] [--replication-port N]`. With a folder its log survives a restart. Each line of
 * JSON on its input is a command, answered by a line (commands.ts). With `--attached` it ends with its input.
 * `--loses-every` plants a defect.
 *
 * With seeds, the other nodes of its cluster, it needs a port and a folder and accepts no commands (replication.ts).
 * Nodes communicate at the ports in `--seeds`. `--replication-port` is accepted as by a real node, but not used.
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    host: { type: 'string' },
    folder: { type: 'string' },
    'max-append-size': { type: 'string' },
    attached: { type: 'boolean', default: false },
    'loses-every': { type: 'string' },
    seeds: { type: 'string', default: '' },
    /** As its seeds name it. */
    advertise: { type: 'string', default: '127.0.0.1' },
    'replication-port': { type: 'string' },
  },
});
const { port, host, folder, 'max-append-size': maxAppendSize, 'loses-every': losesEvery, attached } = values;
const options = {
  ...(port === undefined ? {} : { port: Number(port) }),
  ...(host === undefined ? {} : { host }),
  ...(maxAppendSize === undefined ? {} : { maxAppendSize: Number(maxAppendSize) }),
};
const peers = values.seeds.split(',').flatMap((seed) => (seed === '' ? [] : [seed]));

const startNode = async (own: string, inFolder: string): Promise<EventStoreService> => {
  const replication = createReplication({ address: own, peers, folder: inFolder, send: createSend() });
  const { committed: log } = replication;
  const node = await startEventStoreService({
    ...options,
    log,
    replication,
    nodeRole: { role: 'leaderless' },
  });
  replication.start((nodeRole, leader) => {
    node.setRole(nodeRole);
    node.faults.gossip(
      [own, ...peers].map((member) => ({
        ...endPointOf(member),
        state: leader === undefined ? 'unknown' : member === leader ? 'leader' : 'follower',
      })),
    );
  });
  return node;
};

/** Acknowledges every nth append, and stores nothing of it. */
const losing = (log: EventLog, every: number): EventLog => {
  let appends = 0;
  return {
    ...log,
    get records() {
      return log.records;
    },
    get end() {
      return log.end;
    },
    write: (stream, events) => {
      appends += 1;
      return (appends % every === 0 ? log.copy() : log).write(stream, events);
    },
  };
};
const openLog = (inFolder: string): EventLog => {
  const log = openLogFile(inFolder);
  return losesEvery === undefined ? log : losing(log, Number(losesEvery));
};

let service =
  peers.length > 0 && port !== undefined && folder !== undefined
    ? await startNode(`${values.advertise}:${port}`, folder)
    : await startEventStoreService({
        ...options,
        ...(folder === undefined ? {} : { log: openLog(folder) }),
      });
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
