import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';
import { referencePages } from './reference-pages.ts';

/** `npm run docs:reference`: writes `docs/reference`, `.env.example`, `deploy/grafana` and `deploy/kubernetes` from the code. */

const pages = await referencePages();
rmSync(join(packageDirectory, 'docs/reference'), { recursive: true, force: true });
for (const [path, text] of pages) {
  mkdirSync(dirname(join(packageDirectory, path)), { recursive: true });
  writeFileSync(join(packageDirectory, path), text);
}
process.stdout.write(`written: ${pages.size} files\n`);
