import { writeFileSync } from 'node:fs';
import { readOpenApi } from './read-openapi.ts';

/** `node dist/test/reference/openapi-main.js FILE`: writes the OpenAPI document, from which the client's types are generated. */

const [, , file = 'dist/openapi.json'] = process.argv;
writeFileSync(file, `${JSON.stringify(await readOpenApi(), null, 1)}\n`);
