import { beforeAll, describe, expect, it } from '@jest/globals';
import { amount } from '../support/amount.ts';
import { syndicationRun, type SyndicationRunReport } from './syndication-run.ts';

/**
 * Toggles while workers are killed, the queue is emptied, and agents are slow or busy. Then two accounts use slow
 * agents, one of them heavily. Runs with both kinds of queue concurrently, because most of the time is waiting.
 * `LONG_FORMS=true` is the long form. `SYNDICATION_TOGGLES`, `SYNDICATION_KILLS` and `SYNDICATION_CROWD` set the
 * numbers, `SYNDICATION_JOBS` (`postgres` or `redis`) selects one queue, and `SYNDICATION_SECONDS` limits the toggles
 * and kills.
 */
const given = (name: string, usual: number): number => Number(process.env[name] ?? usual);
const seed = given('FAULT_SEED', 7);

const only = process.env['SYNDICATION_JOBS'] ?? '';
const seconds = process.env['SYNDICATION_SECONDS'] ?? '';

const allRuns = [
  { jobs: 'postgres', toggles: amount(25, 500), kills: amount(5, 30), crowd: amount(30, 300) },
  { jobs: 'redis', toggles: amount(50, 5_000), kills: amount(10, 300), crowd: amount(50, 10_000) },
] as const;
const runs = allRuns.filter(({ jobs }) => only === '' || jobs === only);
const numbersOf = ({ jobs, toggles, kills, crowd }: (typeof allRuns)[number]) => ({
  seed,
  jobs,
  toggles: given('SYNDICATION_TOGGLES', toggles),
  kills: given('SYNDICATION_KILLS', kills),
  crowd: given('SYNDICATION_CROWD', crowd),
  ...(seconds === '' ? {} : { secondsMax: Number(seconds) }),
});

const reports = new Map<string, Promise<SyndicationRunReport>>();
beforeAll(() => {
  for (const run of runs) {
    const report = syndicationRun(numbersOf(run));
    // The test that awaits the report receives its error.
    report.catch(() => undefined);
    reports.set(run.jobs, report);
  }
});

describe.each(runs)('syndication with its jobs in $jobs', (run) => {
  const { toggles, kills } = numbersOf(run);
  it(`${toggles} toggles, ${kills} kills, 1 lost queue: every record ends in its last requested state`, async () => {
    const report = await reports.get(run.jobs);
    console.log(`seed ${seed}: ${JSON.stringify(report)}`);
    expect(report?.findings).toEqual({
      stuck: [],
      notInLastState: 0,
      illegalTransitions: [],
      unexpectedAtAgent: [],
      missingAtAgent: 0,
      otherMembers: 0,
      repeatedEffects: 0,
      otherKeys: [],
      failed: [],
    });
    // On a busy machine they may be slow. Stuck work is always a finding.
    if (report?.wasBusy === false) expect(report.waitingAfter60s).toEqual([]);
    const { crowdedMs = Infinity, aloneMs = 0, wasBusy = false } = report?.afterCrowd ?? {};
    // 5 s are promised. On an overloaded machine a longer time proves nothing.
    const limitMs = wasBusy && aloneMs > 5_000 ? 3 * aloneMs : 5_000;
    expect(crowdedMs - aloneMs).toBeLessThan(limitMs);
  }, 3_600_000);
});
