import { statSync } from 'node:fs';

/**
 * The slowest suites, slowest first: a slow suite that starts last would run alone at the end. The list is fixed
 * because a new checkout has no earlier run, and a suite's size does not predict its time. The suites with the most
 * pages in a browser are apart: at the same time they would leave each other no processor.
 */
const LONGEST = [
  'browser/console-data.browser',
  'api/messages.e2e',
  'fuzz/fuzz.e2e',
  'browser/console-account.browser',
  'api/proposals.e2e',
  'api/tour.e2e',
  'browser/console.browser',
  'integration/command-line.e2e',
  'integration/start.e2e',
  'contract/eventstoredb-faults.int',
  'api/isolation.e2e',
  'integration/listen.e2e',
  'integration/alerts-fire.e2e',
  'api/client-package.e2e',
  'contract/eventstoredb-elections.int',
  'api/canary.e2e',
  'integration/http-drain.e2e',
  'api/syndication.e2e',
  'api/delivery.e2e',
  'integration/embedded-postgres.int',
  'api/operator-pages.e2e',
  'api/pages.e2e',
  'integration/realtime-proxy.e2e',
  'api/broken-uploads.e2e',
  'api/idempotency.e2e',
  'api/eventstoredb-calls.e2e',
  'api/rate-limits.e2e',
  'integration/program.e2e',
  'integration/mcp-inspector.e2e',
  'browser/assets.browser',
  'integration/backup.e2e',
  'api/mcp-tools.e2e',
  'integration/adcp-storyboards.e2e',
  'api/members.e2e',
  'api/slow-uploads.e2e',
  'integration/realtime-slow-readers.e2e',
  'contract/eventstoredb-leader.int',
  'integration/rate-limits-together.e2e',
  'api/advertisers-consistency.e2e',
  'integration/mcp-conformance.e2e',
  'integration/forget.int',
  'faults/crash-run.fault',
  'faults/mails.fault',
  'faults/shared-tail.fault',
  'faults/conversions.fault',
  'faults/webhooks.fault',
  'faults/syndication.fault',
  'faults/simulation.fault',
  'faults/roles.fault',
  'faults/realtime.fault',
  'faults/webhook-fan-out.fault',
  'faults/online-rebuild.fault',
  'faults/outages.fault',
  'faults/jobs.fault',
  'faults/account-rows.fault',
  'faults/kills.fault',
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
