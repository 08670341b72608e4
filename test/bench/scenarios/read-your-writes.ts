import { openConnection, rawRequest } from '../http-load.ts';
import { alternate, lineOf, quantile, type Line } from '../measure.ts';
import { advertisersPath, authorized, createRequests } from './advertiser-requests.ts';
import { openStage } from '../stage.ts';
import type { Scenario, Stage } from './scenario.ts';

/** A write, and the read that must show it. */
interface Pair {
  readonly name: string;
  /** @returns the text that the read must contain */
  write(send: Send): Promise<string>;
  readonly read: () => string;
}

type Send = (request: string) => Promise<string>;

/** Durations of the reads, in ms. */
const timesOf = async (stage: Stage, pair: Pair, withWrites: boolean, seconds: number) => {
  const connection = await openConnection(stage.service.port);
  const send: Send = async (request) => {
    const { status, body } = await connection.send(request);
    if (status > 299) throw new Error(`${status}: ${body}`);
    return body;
  };
  const times: number[] = [];
  let expected = await pair.write(send);
  await send(pair.read());
  const endMs = performance.now() + seconds * 1_000;
  do {
    if (withWrites) expected = await pair.write(send);
    const sentMs = performance.now();
    const shown = await send(pair.read());
    times.push(performance.now() - sentMs);
    if (!shown.includes(expected)) throw new Error(`${pair.name}: the read does not show the write`);
  } while (performance.now() < endMs);
  connection.close();
  return times;
};

/** A read after a write, which it must show, against the same read without a write. One client. */
export const readYourWrites: Scenario = async (bench) => {
  const stage = await bench.shared(openStage);
  const headers = { 'Content-Type': 'application/json', ...authorized(stage) };
  const create = createRequests(advertisersPath, () => authorized(stage));
  const idOf = (body: string): number => (JSON.parse(body) as { data: { id: number } }).data.id;
  const connection = await openConnection(stage.service.port);
  const id = idOf((await connection.send(create())).body);
  connection.close();
  let names = 0;
  const pairs: readonly Pair[] = [
    {
      name: 'GET list of 50 right after a POST',
      write: async (send) => `"id":${idOf(await send(create()))},`,
      read: () => rawRequest('GET', `${advertisersPath}?take=50`, authorized(stage)),
    },
    {
      name: 'GET detail right after a PUT',
      write: async (send) => {
        const name = `Renamed ${(names += 1)}`;
        await send(rawRequest('PUT', `${advertisersPath}/${id}`, headers, JSON.stringify({ name })));
        return `"name":"${name}"`;
      },
      read: () => rawRequest('GET', `${advertisersPath}/${id}`, authorized(stage)),
    },
  ];
  const lines: Line[] = [];
  for (const pair of pairs) {
    const seconds = Math.max(bench.seconds, 0.2);
    const { ours, baseline, ...observed } = await alternate(
      bench.rounds,
      () => timesOf(stage, pair, true, seconds),
      () => timesOf(stage, pair, false, seconds),
    );
    const line = (share: string, of: number): Line =>
      lineOf({
        name: `${pair.name}, ${share}`,
        unit: 'ms',
        ours: ours.map((times) => quantile(times, of)),
        baseline: baseline.map((times) => quantile(times, of)),
        baselineName: 'nothing written, the answer from memory',
        ...observed,
      });
    lines.push(line('p50', 0.5), line('p99', 0.99));
  }
  return lines;
};
