import { nodeCommand, startEventStoreNodes } from '../support/eventstoredb/event-store-nodes.ts';
import type { Bench } from './scenarios/scenario.ts';

/**
 * The connection string of a real server: one that `EVENTSTORE_COMMAND` starts, until the scenario ends, or that of
 * `EVENTSTORE_URL`. Undefined where neither is set, which is said on stderr.
 */
export const findEventStoreServer = async (bench: Bench, scenario: string): Promise<string | undefined> => {
  const command = nodeCommand();
  if (command !== undefined) {
    const nodes = await startEventStoreNodes(command);
    bench.atEnd(() => nodes.stop());
    return nodes.url;
  }
  const given = process.env['EVENTSTORE_URL'] ?? '';
  if (given !== '') return given;
  process.stderr.write(`${scenario}: not measured, neither EVENTSTORE_COMMAND nor EVENTSTORE_URL is set\n`);
  return undefined;
};
