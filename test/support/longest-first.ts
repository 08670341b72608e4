import { statSync } from 'node:fs';

/**
 * The slowest suites, slowest first: a slow suite that starts last would run alone at the end. The list is fixed
 * because a new checkout has no earlier run, and a suite's size does not predict its time.
 */
const LONGEST = [
  'browser/console-data.browser',
  'browser/console-account.browser',
  'browser/console.browser',
  'api/messages.e2e',
  'faults/crash-run.fault',
  'faults/conversions.fault',
  'faults/syndication.fault',
  'faults/roles.fault',
  'faults/online-rebuild.fault',
  'faults/log-chain.fault',
  'faults/account-rows.fault',
  'faults/api-keys.fault',
  'faults/one-effect.fault',
  'faults/simulation.fault',
  'faults/kills.fault',
  'faults/jobs.fault',
  'fuzz/fuzz.e2e',
  'api/isolation.e2e',
  'api/syndication.e2e',
  'integration/embedded-postgres.int',
  'integration/program.e2e',
  'api/canary.e2e',
  'contract/eventstoredb-event-store.int',
  'integration/event-copy-command.e2e',
  'contract/eventstoredb-faults.int',
  'contract/eventstoredb-subscription.int',
  'integration/projection-engine.int',
  'integration/rate-limits-together.e2e',
  'api/slow-uploads.e2e',
  'api/sweeps.e2e',
  'api/lists-as-of.e2e',
  'api/audiences-repeat.e2e',
  'integration/http-slow.e2e',
];

interface Suite {
  /** The path of its bundle. */
  readonly path: string;
}

const placeOf = ({ path }: Suite): number => {
  const place = LONGEST.findIndex((name) => path.endsWith(`/${name}.test.js`));
  return place < 0 ? LONGEST.length : place;
};

/** The order of suites in a run, as Jest's `testSequencer`. Free workers take them in this order. */
export default class LongestFirst {
  sort<Some extends Suite>(suites: readonly Some[]): readonly Some[] {
    const bytes = new Map(suites.map(({ path }) => [path, statSync(path).size]));
    return suites.toSorted(
      (a, b) => placeOf(a) - placeOf(b) || (bytes.get(b.path) ?? 0) - (bytes.get(a.path) ?? 0),
    );
  }

  /** Stores nothing: each run starts with the same order. */
  cacheResults(): void {
    return;
  }
}
