import type { Installation } from '../app/installation.ts';
import { allProjections } from '../projections/all-projections.ts';
import { listParked, type ParkedStream } from '../projections/engine/parked-streams.ts';
import { retryParked } from '../projections/engine/retry-parked.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { ArgumentsError } from './parse-args.ts';

async function* parkedStreams({ pool }: Installation): AsyncGenerator<ParkedStream> {
  let page = await listParked(pool);
  while (page.length > 0) {
    yield* page;
    const after = page.at(-1);
    page = after === undefined ? [] : await listParked(pool, { after });
  }
}

export const addParkedCommands = (program: OperatorCommand, { installation, print, fail }: Tools): void => {
  const parked = program.command('parked').description('Streams that read models leave out.');

  parked
    .command('list')
    .description('Lists streams that a read model leaves out, with the reason.')
    .action(async () => {
      for await (const one of parkedStreams(await installation())) {
        const { projection, stream, revision, position, eventType, attempts, error } = one;
        print(
          one,
          `${projection} ${stream}@${revision} (${eventType} at ${position}, ${attempts} attempts): ${error}`,
        );
      }
    });

  parked
    .command('retry')
    .description('Retries a parked stream. Works while the service runs.')
    .argument('<PROJECTION>', 'name of the read model')
    .argument('<STREAM>', 'name of the stream, as `parked list` prints it')
    .exits({
      0: 'the stream is projected again, or was not parked',
      1: 'the stream is still parked, or the retry failed',
    })
    .action(async (name: string, stream: string) => {
      const projection = allProjections.find((one) => one.name === name);
      if (projection === undefined) {
        const names = allProjections.map((one) => one.name).join(', ');
        throw new ArgumentsError(`no read model is named ${name}; there are: ${names}`);
      }
      const { pool, store } = await installation();
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
