import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageDirectory } from '../../../app/version.ts';

/** For `localhost` and 127.0.0.1, signed by an authority that only the tests trust; valid until 2126. */
const path = (file: string): string => join(packageDirectory, 'test', 'support', 'eventstoredb', 'tls', file);

/** The authority's certificate, for `tlsCAFile`. */
export const testAuthorityFile = path('ca.crt');

export const testTls = () => ({
  key: readFileSync(path('node.key'), 'utf8'),
  certificate: readFileSync(path('node.crt'), 'utf8'),
});
