import { nodeCommand, startEventStoreNodes } from '../support/eventstoredb/event-store-nodes.ts';
import type { Bench } from './scenarios/scenario.ts';

/**
 * The connection string of a real server. `EVENTSTORE_COMMAND` starts one until the scenario ends; otherwise it is
 * `EVENTSTORE_URL`. If neither is set, prints a note on stderr and returns undefined.
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
