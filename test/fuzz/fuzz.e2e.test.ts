import { expect, it } from '@jest/globals';
import { fuzzOptions } from './fuzz-options.ts';
import { fuzzService } from './fuzz-service.ts';
import { amount } from '../support/amount.ts';

/** The short form; `npm run fuzz` is the long one (docs/design/fuzzing.md). */
const options = fuzzOptions({ requests: amount(100, 2_000), raw: 20 });

it('no request crashes the service, changes a prototype, or gets a late, failed or malformed answer', async () => {
  const { failures, text } = await fuzzService(options);
  console.log(text);
  expect(failures.join('\n\n')).toBe('');
}, 1_800_000);
