import { startTestPostgres } from '../support/test-postgres.ts';
import { fuzzOptions } from './fuzz-options.ts';
import { fuzzService } from './fuzz-service.ts';

/** `npm run fuzz`, the long form (docs/design/fuzzing.md). Exits with status 1 if it finds a problem. */
const options = fuzzOptions({ requests: 20_000, raw: 200 });
const given = process.env['DATABASE_URL'] ?? '';
const postgres = given === '' ? await startTestPostgres() : undefined;
process.env['TEST_POSTGRES_URL'] = postgres?.url ?? given;
process.stdout.write(`fuzzing with seed ${options.seed}\n`);
const { failures, text } = await fuzzService(options);
process.stdout.write(`${text}\n${failures.map((failure) => `\n${failure}\n`).join('')}`);
await postgres?.stop();
process.exit(failures.length === 0 ? 0 : 1);
