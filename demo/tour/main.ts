import { parseArgs } from 'node:util';
import { createGuide, StumbledError, type RequestRecord } from './guide.ts';
import { startPrograms, type StartedPrograms } from './programs.ts';
import { walk } from './steps.ts';

const HELP = `The tour calls the 14 endpoints of the specification and an advertiser's history, and prints every
request and answer.

  npm run -s tour                                   with its own empty service and sandbox agent
  npm run -s tour -- --url URL --key KEY            with a running service; the tour creates data there
                     [--agent URL]                  address of the sandbox agent; default: http://127.0.0.1:4300
                                                    It needs \`npm run -s sandbox-agent\`, and the service
                                                    OUTBOUND_ALLOW_LOOPBACK=true to reach it.

Exit status: 0 when every answer was as expected, else 1; 2 for invalid options;
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

const operate = async (programs: StartedPrograms): Promise<void> => {
  print('\nWhile the service runs, an operator seals and verifies its log, and rebuilds a read model:\n');
  for (const words of ['log seal', 'log verify', 'read-models rebuild advertisers']) {
    print(`\n$ npm run -s exchange -- ${words}\n${await programs.exchange(...words.split(' '))}`);
  }
};

/** @param atLast shown after the walk; the summary is always printed last, also after a failure */
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
  readonly help: boolean;
}

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
