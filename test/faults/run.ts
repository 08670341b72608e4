import { parseArgs } from 'node:util';
import { startTestPostgres } from '../support/test-postgres.ts';
import { crashRun, describe, isClean } from './crash-run.ts';

/**
 * `npm run faults -- --seed N [--long] [--events eventstoredb] [--nodes N] [--seconds N]` starts the crash run. Exits
 * with status 1 on a finding. `--nodes`: nodes of an EventStoreDB that `EVENTSTORE_COMMAND` starts; without the option
 * it is in memory. `--seconds`: the maximum duration.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    long: { type: 'boolean', default: false },
    events: { type: 'string', default: 'postgres' },
    nodes: { type: 'string' },
    seconds: { type: 'string' },
  },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
const size = values.long
  ? { commands: 20_000, crashes: 2_500, faults: 3_000, secondsMax: 3_600 }
  : { commands: 1_500, crashes: 150, faults: 200, secondsMax: 120 };

const given = process.env['DATABASE_URL'] ?? '';
const postgres = given === '' ? await startTestPostgres() : undefined;
process.env['TEST_POSTGRES_URL'] = postgres?.url ?? given;
process.stdout.write(`crash run, seed ${seed}\n`);
if (values.nodes !== undefined) process.env['TEST_EVENTSTORE'] = 'command';
const nodes = Number(values.nodes ?? 1);
const events = values.events === 'eventstoredb' ? 'eventstoredb' : 'postgres';
const secondsMax = Number(values.seconds ?? size.secondsMax);
const report = await crashRun({ seed, ...size, secondsMax, events, nodes });
process.stdout.write(`${describe(report)}\n`);
await postgres?.stop();
process.exit(isClean(report) ? 0 : 1);
