import type { Backbone } from '../composition.ts';
import { allProjections } from '../projections/all-projections.ts';
import { listParked, type ParkedStream } from '../projections/engine/parked-streams.ts';
import { retryParked } from '../projections/engine/retry-parked.ts';
import { command, type Command } from './command.ts';
import { WordsError } from './words.ts';

/** The operator's commands on streams that read models leave out. */

/** Every parked stream, a page at a time. */
async function* parkedStreams({ pool }: Backbone): AsyncGenerator<ParkedStream> {
  let page = await listParked(pool);
  while (page.length > 0) {
    yield* page;
    const after = page.at(-1);
    page = after === undefined ? [] : await listParked(pool, { after });
  }
}

const parkedList = command({
  name: 'parked list',
  places: [],
  about: 'Lists streams that a read model leaves out, with the reason.',
  understand: () =>
    async function* ({ backbone }) {
      for await (const parked of parkedStreams(await backbone())) {
        const { projection, stream, revision, position, eventType, attempts, error } = parked;
        yield {
          value: parked,
          text: `${projection} ${stream}@${revision} (${eventType} at ${position}, ${attempts} attempts): ${error}`,
        };
      }
      return undefined;
    },
});

const parkedRetry = command({
  name: 'parked retry',
  places: ['PROJECTION', 'STREAM'],
  about: 'Tries one again, beside a running service.',
  statuses: {
    0: 'it is projected again, or was not parked',
    1: 'it is parked still, or it could not be tried',
  },
  understand: ([name, stream = '']) => {
    const projection = allProjections.find((one) => one.name === name);
    if (projection === undefined) {
      const names = allProjections.map((one) => one.name).join(', ');
      throw new WordsError(`no read model is named ${name}; there are: ${names}`);
    }
    return async function* ({ backbone }) {
      const { pool, store } = await backbone();
      const result = await retryParked(pool, store, projection, stream);
      const of = { projection: projection.name, stream, outcome: result.outcome };
      if (result.outcome === 'parked') {
        const { revision, position, eventType, attempts, error } = result.stream;
        const parked = { revision, position, eventType, attempts, error };
        yield { value: { ...of, parked }, text: `still parked: ${error}` };
        return 'amiss';
      }
      yield result.outcome === 'applied'
        ? {
            value: { ...of, events: result.events },
            text: `applied ${result.events} events; ${stream} is projected again`,
          }
        : { value: of, text: `${stream} is not parked` };
      return undefined;
    };
  },
});

export const parkedCommands: readonly Command[] = [parkedList, parkedRetry];
