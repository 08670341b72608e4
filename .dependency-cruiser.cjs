/** The folders that each folder at the top may import. A wrong import fails `npm run check`. */
const folders = 'app cli client command console demo domain mcp migrations projections query shared'.split(
  ' ',
);
const inFolder = (...names) => `^(${names.join('|')})/`;
const only = (from, allowed) => ({
  name: `${from}-imports-only-${allowed.length === 0 ? 'itself' : allowed.join('-')}`,
  severity: 'error',
  from: { path: inFolder(from) },
  to: { path: inFolder(...folders, 'test'), pathNot: inFolder(from, ...allowed) },
});

module.exports = {
  forbidden: [
    only('domain', []),
    only('command', ['domain', 'shared']),
    only('projections', ['domain', 'shared']),
    only('query', ['domain', 'shared']),
    only('migrations', []),
    only('shared', []),
    only('mcp', ['command', 'domain', 'query', 'shared']),
    only('client', []),
    only('console', ['client']),
    only('demo', ['client', 'shared']),
    {
      name: 'only-the-worker-and-agents-for-trials-load-the-client-of-agents',
      comment: 'It is large, and belongs to one protocol version: no other code may depend on it.',
      severity: 'error',
      from: {
        pathNot:
          '^(command/workers/syndication/|demo/sandbox-agent/|test/support/(?:reporting-)?sellers-process[.]ts$)',
      },
      to: { path: 'node_modules/@(adcp|a2a-js)/' },
    },
    {
      name: 'redis-is-loaded-by-one-file',
      comment: 'Loading ioredis slows down every text of the process. That file undoes it.',
      severity: 'error',
      from: { path: inFolder(...folders), pathNot: '^shared/process/redis-client[.]ts$' },
      to: { path: 'node_modules/ioredis/' },
    },
    {
      name: 'query-takes-no-input-of-the-domain',
      comment:
        'Folding is reading, so the query side may use streams, folds and resources. Input is for commands. ' +
        'That it uses no decider is checked by name, in .oxlintrc.json: folds and deciders share a file.',
      severity: 'error',
      from: { path: inFolder('query') },
      to: { path: '^domain/.*input\\.ts$' },
    },
    {
      name: 'domain-is-pure',
      comment: 'No I/O, clock or randomness: zod is the only package that the domain may import.',
      severity: 'error',
      from: { path: inFolder('domain') },
      to: { dependencyTypes: ['npm', 'npm-dev', 'core'], pathNot: 'node_modules/zod/' },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-circular-folders', severity: 'error', scope: 'folder', from: {}, to: { circular: true } },
    {
      name: 'only-tests-import-tests',
      severity: 'error',
      from: { path: inFolder(...folders) },
      to: { path: '^test/' },
    },
    {
      name: 'only-the-command-line-imports-the-composition',
      severity: 'error',
      from: { path: inFolder(...folders), pathNot: inFolder('app', 'cli') },
      to: { path: inFolder('app') },
    },
    {
      name: 'nothing-imports-the-command-line',
      severity: 'error',
      from: { path: inFolder(...folders), pathNot: inFolder('cli') },
      to: { path: inFolder('cli') },
    },
    {
      name: 'only-tests-use-dev-dependencies',
      severity: 'error',
      from: { path: inFolder(...folders) },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    { name: 'not-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // A fresh clone has no bundle yet, which `cli/bin.js` builds before it loads it.
    exclude: { path: 'dist/bundle/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
    parser: 'swc',
  },
};
