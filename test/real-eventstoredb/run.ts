import { spawnSync } from 'node:child_process';
import { nodeCommand } from '../support/eventstoredb/event-store-nodes.ts';

/**
 * `npm run test:eventstoredb`: the suites on a real EventStoreDB (docs/design/testing-eventstoredb.md). With
 * `EVENTSTORE_COMMAND` each installation has its own node; with `EVENTSTORE_URL` the contract suite runs on that
 * server. With neither it reports that no suite ran, which is not a failure.
 */

const CONTRACT = ['contract/eventstoredb-event-store'];
const ON_OWN_NODES = [
  ...CONTRACT,
  '/api/',
  'integration/event-copy-command',
  'integration/online-rebuild-eventstoredb',
  'faults/roles',
  'faults/crash-run',
];

const jest = (suites: readonly string[], environment: Readonly<Record<string, string>>): number => {
  const { status } = spawnSync('npm', ['run', '-s', 'jest:built', '--', '--maxWorkers', '1', ...suites], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  return status ?? 1;
};

if (nodeCommand() !== undefined) process.exitCode = jest(ON_OWN_NODES, { TEST_EVENTSTORE: 'command' });
else if ((process.env['EVENTSTORE_URL'] ?? '') !== '') process.exitCode = jest(CONTRACT, {});
else {
  process.stderr.write(
    'no suite ran on a real EventStoreDB: neither EVENTSTORE_COMMAND nor EVENTSTORE_URL is set\n',
  );
}
