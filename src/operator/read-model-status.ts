import { allProjections } from '../projections/all-projections.ts';
import { readHealth, type ReadModelHealth } from '../projections/engine/read-model-health.ts';
import { systemClock } from '../shared/clock.ts';
import { command } from './command.ts';
import { WordsError } from './words.ts';

/** How read models are: a table for people. */
export const readModelsStatus = command({
  name: 'read-models status',
  places: [],
  more: 'NAME',
  about:
    'Where each read model stands and where the log ends, how far it is behind, whether some process runs it, what it ' +
    'leaves out, and copies that are being made; default: every one. Changes nothing.',
  isQuestion: true,
  statuses: {
    0: 'some process runs each, none is 10,000 events behind or leaves anything out',
    1: 'one has a problem',
    2: 'it could not be found out',
  },
  understand: (names) => {
    const unknown = names.find((name) => !allProjections.some((one) => one.name === name));
    if (unknown !== undefined) {
      const there = allProjections.map((one) => one.name).join(', ');
      throw new WordsError(`${unknown} is no read model; there are: ${there}`);
    }
    const wanted = allProjections.filter(({ name }) => names.length === 0 || names.includes(name));
    return async function* ({ backbone }) {
      const { pool, sealedStore } = await backbone();
      const healths = await readHealth(pool, sealedStore, wanted, systemClock.now());
      const table = tableOf([HEAD, ...healths.map(cellsOf)]);
      for (const [n, health] of healths.entries()) {
        const row = table[n + 1];
        yield {
          value: health,
          text: n === 0 ? `the log ends at ${health.head}\n${table[0]}\n${row}` : row,
        };
      }
      return healths.some(({ problems }) => problems.length > 0) ? 'amiss' : undefined;
    };
  },
});

const HEAD = ['read model', 'at', 'epoch', 'behind', 'run', 'parked', 'blocks', 'copy'] as const;

const cellsOf = (one: ReadModelHealth): readonly string[] => [
  one.readModel,
  one.position,
  String(one.epoch),
  behindOf(one),
  one.led ? 'yes' : 'NO',
  String(one.parkedStreams),
  one.blocksKept === undefined ? '-' : one.blocksKept ? 'kept' : 'not yet',
  copyOf(one),
];

const behindOf = ({ lagEvents, lagBytes = 0, lagSeconds, problems }: ReadModelHealth): string => {
  if (problems.includes('log-ends-before')) return 'THE LOG ENDS BEFORE IT';
  const much = lagEvents === undefined ? `${lagBytes} bytes` : `${lagEvents} events`;
  return lagSeconds === 0 ? much : `${much}, ${lagSeconds.toFixed(1)} s`;
};

const copyOf = ({ copy }: ReadModelHealth): string => {
  if (copy === undefined) return '-';
  const done = copy.fraction === undefined ? 'begun' : `${(copy.fraction * 100).toFixed(1)} %`;
  const { heldBy } = copy;
  if (heldBy === undefined) return `${done}, left by a run that has ended`;
  const address = heldBy.address === undefined ? '' : ` at ${heldBy.address}`;
  return `${done}, by ${heldBy.process}${address} since ${heldBy.connectedAt}`;
};

/** @returns lines, whose columns are as wide as what is in them */
const tableOf = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = HEAD.map((_, n) => Math.max(...rows.map((cells) => (cells[n] ?? '').length)));
  return rows.map((cells) =>
    cells
      .map((cell, n) => cell.padEnd(widths[n] ?? 0))
      .join('  ')
      .trimEnd(),
  );
};
