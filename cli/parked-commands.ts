import type { Installation } from '../app/installation.ts';
import { allProjections } from '../projections/all-projections.ts';
import { listParked, type ParkedStream } from '../projections/engine/parked-streams.ts';
import { retryAllParked, retryParked } from '../projections/engine/retry-parked.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { ArgumentsError } from './parse-args.ts';
import { printList, relativeTime } from './print-table.ts';

async function* parkedStreams({ pool }: Installation): AsyncGenerator<ParkedStream> {
  let page = await listParked(pool);
  while (page.length > 0) {
    yield* page;
    const after = page.at(-1);
    page = after === undefined ? [] : await listParked(pool, { after });
  }
}

export const addParkedCommands = (program: OperatorCommand, tools: Tools): void => {
  const { installation, print, fail } = tools;
  const parked = program.command('parked').description('Streams that read models leave out.');

  parked
    .command('list')
    .description('Lists streams that a read model leaves out, with the reason.')
    .action(async () => {
      await printList(tools, parkedStreams(await installation()), {
        head: ['read model', 'stream', 'event', 'parked', 'attempts', 'error'],
        cells: ({ projection, stream, revision, eventType, parkedAt, attempts, error }) => [
          projection,
          `${stream}@${revision}`,
          eventType,
          relativeTime(parkedAt),
          String(attempts),
          error,
        ],
        empty: 'No stream is parked.',
      });
    });

  parked
    .command('retry')
    .description('Retries parked streams of a read model. Works while the service runs.')
    .argument('<PROJECTION>', 'name of the read model')
    .argument('[STREAM]', 'name of the stream, as `parked list` prints it; default: all')
    .exits({
      0: 'the streams are projected again, or were not parked',
      1: 'a stream is still parked, or the retry failed',
    })
    .example('advertisers', 'advertisers advertiser-1-7')
    .action(async (name: string, stream?: string) => {
      const projection = allProjections.find((one) => one.name === name);
      if (projection === undefined) {
        const names = allProjections.map((one) => one.name).join(', ');
        throw new ArgumentsError(`no read model is named ${name}; there are: ${names}`);
      }
      const { pool, store } = await installation();
      if (stream === undefined) {
        const count = await retryAllParked(pool, store, projection);
        print(
          { projection: name, ...count },
          `${count.applied} streams are projected again, ${count.parked} are still parked`,
        );
        if (count.parked > 0) fail();
        return;
      }
      const result = await retryParked(pool, store, projection, stream);
      const of = { projection: name, stream, outcome: result.outcome };
      if (result.outcome === 'parked') {
        const { revision, position, eventType, attempts, error } = result.stream;
        print(
          { ...of, parked: { revision, position, eventType, attempts, error } },
          `still parked: ${error}`,
        );
        fail();
      } else if (result.outcome === 'applied') {
        print(
          { ...of, events: result.events },
          `applied ${result.events} events; ${stream} is projected again`,
        );
      } else print(of, `${stream} is not parked`);
    });
};
