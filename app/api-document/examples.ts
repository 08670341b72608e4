import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Examples } from '../../shared/http/examples.ts';
import { packageDirectory } from '../version.ts';

/** Written by `api/examples.e2e`, which compares it with the service. */
const FILE = join(packageDirectory, 'app', 'api-document', 'examples.json');
const ADDRESS = 'https://exchange.example';

/** An exchange with each operation. @param baseUrl stands in them */
export const readExamples = (baseUrl: string): Examples =>
  JSON.parse(readFileSync(FILE, 'utf8').replaceAll(ADDRESS, baseUrl)) as Examples;
