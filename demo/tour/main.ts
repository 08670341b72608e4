import { parseArgs } from 'node:util';
import { createGuide, StumbledError, type Seen } from './guide.ts';
import { startPrograms, type StartedPrograms } from './programs.ts';
import { walk } from './steps.ts';

const HELP = `The tour goes through the 14 endpoints of the specification and an advertiser's history, and prints every
request and answer.

  npm run -s tour                                   on an empty service of its own, with a sandbox agent
  npm run -s tour -- --url URL --key KEY            on one that runs; it creates an advertiser and more there
                     [--agent URL]                  where the sandbox agent is: http://127.0.0.1:4300
                                                    It needs \`npm run -s sandbox-agent\`, and the service
                                                    OUTBOUND_ALLOW_LOOPBACK=true to reach it.

Exit status: 0 when every answer was what it should be, else 1; 2 for wrong options;
130 after Ctrl-C.
`;
const ENDPOINTS = 14;
const options = {
  url: { type: 'string' },
  key: { type: 'string' },
  agent: { type: 'string', default: 'http://127.0.0.1:4300' },
  help: { type: 'boolean', default: false },
} as const;

const print = (text: string): void => void process.stdout.write(text);

const main = async (): Promise<number> => {
  const { service, agent, help } = optionsOf();
  if (help) {
    print(HELP);
    return 0;
  }
  if (service !== undefined) {
    return walkThrough(service.url, service.key, { url: agent, token: 'sandbox-agent-token' });
  }
  print('Starting an empty service and a sandbox agent.\n');
  const programs = await startPrograms();
  // As a shell says of what these signals have ended.
  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(signal, () => void programs.stop().finally(() => process.exit(status)));
  }
  try {
    return await walkThrough(programs.url, programs.key, programs.agent, () => operate(programs));
  } finally {
    await programs.stop();
  }
};

/** What an operator does beside a running service. */
const operate = async (programs: StartedPrograms): Promise<void> => {
  print('\nThe service still runs. An operator seals and verifies its log, and rebuilds a read model:\n');
  for (const words of ['log seal', 'log verify', 'read-models rebuild advertisers']) {
    print(`\n$ npm run -s exchange -- ${words}\n${await programs.exchange(...words.split(' '))}`);
  }
};

/** @param atLast what is shown once all has been walked through; the summary ends the tour, wherever that ends */
const walkThrough = async (
  url: string,
  key: string,
  agent: { readonly url: string; readonly token: string },
  atLast = async (): Promise<void> => undefined,
): Promise<number> => {
  const guide = createGuide(url, key, print);
  try {
    await walk(guide, agent);
    await atLast();
  } catch (error) {
    if (!(error instanceof StumbledError)) throw error;
    process.stderr.write(`\nThe tour stopped: ${error.message}\n`);
    return 1;
  } finally {
    print(summaryOf(guide.seen));
  }
  return 0;
};

const summaryOf = (seen: readonly Seen[]): string => {
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

/** Without its query, the host that an upload's address has, and ids. */
const pathOf = (request: string): string =>
  request
    .replace(/\?.*$/, '')
    .replace(/https?:\/\/[^/]+(\/api\/v2\/buyer)?/, '')
    .replace(/\/(\d+|\w{3}_\w+)(?=\/|$)/g, '/{id}');

interface Options {
  /** Of a service that runs; without it, the tour starts one. */
  readonly service?: { readonly url: string; readonly key: string };
  readonly agent: string;
  readonly help: boolean;
}

/** Ends the process when they are wrong. */
const optionsOf = (): Options => {
  try {
    const { url, key, agent, help } = parseArgs({ options }).values;
    if (url === undefined && key === undefined) return { agent, help };
    if (url === undefined || key === undefined) throw new TypeError('--url and --key need each other');
    return { service: { url, key }, agent, help };
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
