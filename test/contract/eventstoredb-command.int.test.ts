import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { callLimits } from '../../shared/event-store/eventstoredb/call-limits.ts';
import type { EventStoreDbEventStore } from '../../shared/event-store/eventstoredb/eventstoredb-event-store.ts';
import { testProgram } from '../support/bundles.ts';
import { startEventStoreNodes, type EventStoreNodes } from '../support/eventstoredb/event-store-nodes.ts';
import { openEventStoreDbStore } from './make-eventstoredb-store.ts';
import { newStream, readIds, sampleEvents } from './sample-events.ts';

/** The command lines that `EVENTSTORE_COMMAND` accepts. The in-memory service is the program that they start. */

const MAIN = `exec "${process.execPath}" "${testProgram('support/eventstoredb/main.js')}"`;

let nodes: EventStoreNodes | undefined;
let store: EventStoreDbEventStore | undefined;
afterEach(async () => {
  await store?.close();
  await nodes?.stop();
});

const start = async (commandLine: string, count?: number): Promise<EventStoreDbEventStore> => {
  nodes = await startEventStoreNodes(commandLine, count);
  ({ store } = openEventStoreDbStore(nodes.url, undefined, callLimits));
  return store;
};
const untilAppended = async (to: EventStoreDbEventStore, stream: string): Promise<void> => {
  const events = sampleEvents(1);
  for (let tries = 0; tries < 20; tries += 1) {
    const answer = await to.append(stream, events, 'any').catch(() => undefined);
    if (answer !== undefined) return;
  }
  throw new Error('No append was accepted.');
};

describe('a node started by a command line', () => {
  it('receives its ports, its data folder and the addresses of the other nodes', async () => {
    const path = join(tmpdir(), `exchange-command-${randomUUID()}`);
    const line = `echo "{port} {replicationPort} {folder} {seeds}" >> ${path}; ${MAIN} --port {port}`;
    await start(line, 2);
    const lines = (await readFile(path, 'utf8')).trim().split('\n').toSorted();
    const ports = (nodes?.nodes ?? []).map(({ port }) => String(port));
    const found = lines.map((text) => text.split(' '));
    expect(found.map(([port]) => port)).toEqual(ports.toSorted());
    expect(found.map(([port, , , seeds]) => [port, seeds])).toEqual(
      ports.toSorted().map((port) => [port, `127.0.0.1:${ports.find((other) => other !== port)}`]),
    );
    expect(new Set(found.flatMap(([port, replicationPort]) => [port, replicationPort])).size).toBe(4);
    expect(new Set(found.map(([, , folder]) => folder)).size).toBe(2);
  });

  it('has its events when it is started again after a kill', async () => {
    const opened = await start(`${MAIN} --port {port} --folder {folder}`);
    const stream = newStream();
    const events = sampleEvents(3);
    await opened.append(stream, events, 'no-stream');
    const [node] = nodes?.nodes ?? [];
    await node?.kill();
    await expect(opened.append(newStream(), sampleEvents(1), 'no-stream')).rejects.toThrow();
    node?.start();
    await untilAppended(opened, newStream());
    expect(await readIds(opened, stream)).toEqual(events.map(({ id }) => id));
  });

  it('continues after it was frozen', async () => {
    const opened = await start(`${MAIN} --port {port} --folder {folder}`);
    await untilAppended(opened, newStream());
    const [node] = nodes?.nodes ?? [];
    node?.freeze();
    await expect(opened.append(newStream(), sampleEvents(1), 'no-stream')).rejects.toThrow();
    node?.thaw();
    await untilAppended(opened, newStream());
  });

  it('belongs to a cluster of three that keeps every accepted append when its leader is killed and another node is frozen', async () => {
    const line = `${MAIN} --port {port} --replication-port {replicationPort} --folder {folder} --seeds={seeds}`;
    const opened = await start(line, 3);
    const [stream, appended]: [string, string[]] = [newStream(), []];
    const appendOne = async (): Promise<void> => {
      const events = sampleEvents(1);
      const accepted = await opened.append(stream, events, 'any').catch(() => undefined);
      if (accepted !== undefined) appended.push(...events.map(({ id }) => id));
    };
    const appendMore = async (): Promise<void> => {
      for (const before = appended.length; appended.length < before + 5;) await appendOne();
    };
    await appendMore();
    for (const node of nodes?.nodes ?? []) {
      await node.kill();
      await appendMore();
      node.start();
      await appendMore();
    }
    for (const node of nodes?.nodes ?? []) {
      node.freeze();
      await appendMore();
      node.thaw();
      await appendMore();
    }
    const there = await readIds(opened, stream);
    expect(there.filter((id) => appended.includes(id))).toEqual(appended);
  }, 180_000);

  it('is reported as an error immediately when its program ends', async () => {
    await expect(startEventStoreNodes('exit 3')).rejects.toThrow('has ended by itself');
  });
});
