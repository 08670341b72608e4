import { lineOf, type Line } from '../measure.ts';
import { rate } from './advertiser-requests.ts';
import type { Bench } from './scenario.ts';

const GOAL_MS = 200;

/**
 * The time of a page in the middle of a long list, with one caller. The page scans half of an index.
 * @param request returns a request for another such page each time
 * @throws Error if an answer is not 2xx
 */
export const middlePage = async (
  { rounds, seconds }: Bench,
  name: string,
  port: number,
  request: () => string,
): Promise<Line> => {
  const ours: number[] = [];
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    const ms = 1000 / (await rate(port, 1, seconds, request));
    if (round > 0) ours.push(ms);
  }
  return lineOf({ name, unit: 'ms', ours, goal: GOAL_MS, atMost: true });
};
