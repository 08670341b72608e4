import { spawnSync } from 'node:child_process';
import { nodeCommand } from '../support/eventstoredb/event-store-nodes.ts';

/**
 * `npm run test:eventstoredb`: the suites on a real EventStoreDB (docs/design/testing-eventstoredb.md). With `EVENTSTORE_COMMAND` each
 * installation has a node of its own; with `EVENTSTORE_URL` the contract suite runs on that server. With neither it says
 * that no real server was met, which is no failure.
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
    'no real EventStoreDB was met: neither EVENTSTORE_COMMAND nor EVENTSTORE_URL is set\n',
  );
}
