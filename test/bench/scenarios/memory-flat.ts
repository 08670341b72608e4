import { conversionRequests } from '../conversion-requests.ts';
import { rawRequest } from '../http-load.ts';
import { figureText, lineOf } from '../measure.ts';
import { startOwnService } from '../stage.ts';
import { advertisersPath, authorized, createRequests, newestIds, rate } from './advertiser-requests.ts';
import { openSource } from './conversions.ts';
import { residentMb } from './memory.ts';
import type { Scenario } from './scenario.ts';

const CONNECTIONS = 8;
const EVENTS = 1_000;
/** Conversion events repeat: a setting bounds the memory for known events. */
const EVENT_IDS = 100_000;

/** Resident memory of the service's process after each round of writes, reads and conversion events. */
export const flatMemory: Scenario = async (bench) => {
  const own = await startOwnService(bench);
  const { port, pid } = own.service;
  const source = await openSource(own, 'memory');
  const create = createRequests(advertisersPath, () => authorized(own));
  await rate(port, CONNECTIONS, 0.5, create);
  let skip = 0;
  const list = (): string =>
    rawRequest('GET', `${advertisersPath}?take=50&skip=${(skip += 1) % 500}`, authorized(own));
  const [id] = await newestIds(port, own, 1);
  const detail = rawRequest('GET', `${advertisersPath}/${id}`, authorized(own));
  let nextEvent = 0;
  const convert = conversionRequests(source.path, source.headers, EVENTS, (count) => {
    nextEvent = (nextEvent + count) % EVENT_IDS;
    return nextEvent;
  });
  const [rounds, seconds] = bench.quick ? [10, 1] : [40, 3];
  const each = rounds / 2;
  const afterMb: number[] = [];
  // The first round warms up and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    const requests = [create, list, () => detail, convert];
    await Promise.all(requests.map((request) => rate(port, CONNECTIONS, seconds, request)));
    if (round > 0) afterMb.push(await residentMb(pid));
  }
  return [
    lineOf({
      name: `resident memory, the later half of ${rounds} rounds of mixed load`,
      unit: 'MB',
      ours: afterMb.slice(each),
      baseline: afterMb.slice(0, each),
      baselineName: 'the earlier half',
      goal: 1.2,
      atMost: true,
      note: `after the first ${figureText(afterMb[0] ?? 0)} MB, after the last ${figureText(afterMb.at(-1) ?? 0)} MB`,
    }),
  ];
};
