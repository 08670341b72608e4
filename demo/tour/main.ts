import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { createGuide, StumbledError, type Guide, type RequestRecord } from './guide.ts';
import { startPrograms, type StartedPrograms } from './programs.ts';
import { CHAPTERS, walk } from './steps.ts';

const HELP = `The tour calls the 14 endpoints of the specification and an advertiser's history, and prints every
request and the first lines of every answer. On a terminal it waits for Enter between two chapters.

  npm run -s tour                                   with its own empty service and sandbox agent
                     [-- --fast]                    does not wait
                     [-- --keep]                    leaves both running at the end, and says what to try next
  npm run -s tour -- --url URL --key KEY            with a running service; the tour creates data there
                     [--agent URL]                  address of the sandbox agent; default: http://127.0.0.1:4300
                                                    It needs \`npm run -s sandbox-agent\`, and the service
                                                    OUTBOUND_ALLOW_LOOPBACK=true to reach it.
                     [--seller ID]                  id of the seller whose agent it also is (\`exchange sellers
                                                    connect\`): the tour asks it for proposals

Exit status: 0 when every answer was as expected, else 1; 2 for invalid options;
130 after Ctrl-C.
`;
const ENDPOINTS = 14;
const options = {
  url: { type: 'string' },
  key: { type: 'string' },
  agent: { type: 'string', default: 'http://127.0.0.1:4300' },
  seller: { type: 'string' },
  fast: { type: 'boolean', default: false },
  keep: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

const print = (text: string): void => void process.stdout.write(text);

const main = async (): Promise<number> => {
  const { service, agent, sellerId, fast, keep, help } = optionsOf();
  if (help) {
    print(HELP);
    return 0;
  }
  const pause = fast || !process.stdin.isTTY || !process.stdout.isTTY ? async () => undefined : waitForEnter;
  if (service !== undefined) {
    const guide = createGuide({ ...service, chapters: CHAPTERS, print, pause });
    return walkThrough(guide, () => walk(guide, { url: agent, token: 'sandbox-agent-token', sellerId }));
  }
  print('Starting an empty service and a sandbox agent.\n');
  const programs = await startPrograms();
  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(signal, () => void programs.stop().finally(() => process.exit(status)));
  }
  try {
    const { url, key } = programs;
    const guide = createGuide({ url, key, chapters: CHAPTERS + 1, print, pause });
    const status = await walkThrough(guide, async () => {
      await walk(guide, programs.agent);
      await guide.chapter("The operator's commands");
      await operate(programs);
    });
    if (keep && status === 0) {
      print(nextOf(programs));
      await programs.ended;
    }
    return status;
  } finally {
    await programs.stop();
  }
};

const waitForEnter = async (): Promise<void> => {
  print('\nPress Enter to go on, Ctrl-C to end. ');
  process.stdin.resume();
  await once(process.stdin, 'data');
  process.stdin.pause();
};

const operate = async (programs: StartedPrograms): Promise<void> => {
  print('\nWhile the service runs, an operator seals and verifies its log, and rebuilds a read model:\n');
  for (const words of ['log seal', 'log verify', 'read-models rebuild advertisers']) {
    print(`\n$ npx exchange ${words}\n${await programs.exchange(...words.split(' '))}`);
  }
};

const nextOf = ({ url, key, signInLink, directory }: StartedPrograms): string => `
The service and the sandbox agent keep running until Ctrl-C. Their data is then deleted.

See it in the console, as its first admin (the link works once; choose any address and password):

  ${signInLink}

Then open ${url}/console. Or call the API:

  export KEY=${key}
  curl -s '${url}/api/v2/buyer/advertisers' -H "Authorization: Bearer $KEY"
  curl -s '${url}/api/v2/buyer/audit-logs?take=5' -H "Authorization: Bearer $KEY"
  DATA_DIR=${directory} npx exchange doctor
  DATA_DIR=${directory} npx exchange read-models status

Every endpoint: ${url}/openapi.json
`;

const walkThrough = async (guide: Guide, work: () => Promise<void>): Promise<number> => {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StumbledError)) throw error;
    process.stderr.write(`\nThe tour stopped: ${error.message}\n`);
    return 1;
  } finally {
    print(summaryOf(guide.seen));
  }
  return 0;
};

const summaryOf = (seen: readonly RequestRecord[]): string => {
  const lines = Array.from({ length: ENDPOINTS }, (_, index) => {
    const calls = seen.filter(({ endpoint }) => endpoint === index + 1);
    const times = calls.map(({ ms }) => `${ms.toFixed(1)} ms`).join(', ');
    const statuses = [...new Set(calls.map(({ status }) => status))].join(', ');
    const where = calls[0] === undefined ? 'not reached' : pathOf(calls[0].request);
    return `${String(index + 1).padStart(4)}  ${statuses.padEnd(5)} ${where.padEnd(64)} ${times}`;
  });
  const reached = new Set(seen.flatMap(({ endpoint }) => endpoint ?? [])).size;
  return `\nSummary: ${reached} of ${ENDPOINTS} endpoints, ${seen.length} requests\n${lines.join('\n')}\n`;
};

const pathOf = (request: string): string =>
  request
    .replace(/\?.*$/, '')
    .replace(/https?:\/\/[^/]+(\/api\/v2\/buyer)?/, '')
    .replace(/\/(\d+|\w{3}_\w+)(?=\/|$)/g, '/{id}');

interface Options {
  readonly service?: { readonly url: string; readonly key: string };
  readonly agent: string;
  readonly sellerId: number | undefined;
  readonly fast: boolean;
  readonly keep: boolean;
  readonly help: boolean;
}

const sellerIdOf = (text: string): number => {
  if (!/^\d+$/.test(text)) throw new TypeError('--seller must be the id of a seller');
  return Number(text);
};

const optionsOf = (): Options => {
  try {
    const { url, key, seller, ...given } = parseArgs({ options }).values;
    const rest = { ...given, sellerId: seller === undefined ? undefined : sellerIdOf(seller) };
    if (url === undefined && key === undefined) return rest;
    if (url === undefined || key === undefined) throw new TypeError('--url and --key need each other');
    if (rest.keep) throw new TypeError('--keep is for the own service of the tour, without --url');
    return { service: { url, key }, ...rest };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return process.exit(2);
  }
};

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
