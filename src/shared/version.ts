import { readFileSync } from 'node:fs';

/** The nearest `package.json` above the compiled file is the program's own. */
const packageFile = new URL('../../../package.json', import.meta.url);

/** The program's version. */
export const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { readonly version: string };
