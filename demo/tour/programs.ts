import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Agent } from './steps.ts';

export interface StartedPrograms {
  readonly url: string;
  readonly key: string;
  /** The first admin signs in with it, once. */
  readonly signInLink: string;
  /** Folder of the data, deleted by `stop`. */
  readonly directory: string;
  readonly ended: Promise<unknown>;
  readonly agent: Agent;
  /** On the same installation. @returns standard output @throws Error when the exit status is not 0 */
  exchange(...words: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

const AGENT_TOKEN = 'sandbox-agent-token';
/** The agents of the tour are on this machine. */
const outbound = { OUTBOUND_ALLOW_LOOPBACK: 'true' };
const START_MS_MAX = 60_000;
const given = Object.fromEntries(
  ['PATH', 'DATABASE_URL'].flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]]],
  ),
);

/** Data is in a temporary folder, or in an empty `DATABASE_URL`. @throws Error if a program ends early */
export const startPrograms = async (): Promise<StartedPrograms> => {
  const directory = await mkdtemp(join(tmpdir(), 'buyer-exchange-tour-'));
  // When root starts it, the embedded Postgres runs as another user, who needs access to this folder.
  await chmod(directory, 0o711);
  const children: ChildProcess[] = [];
  const start = (file: string, environment: Readonly<Record<string, string>>): ChildProcess => {
    const child = spawn(process.execPath, ['--no-warnings', join(import.meta.dirname, file)], {
      env: { ...given, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    return child;
  };
  const stop = async (): Promise<void> => {
    await Promise.all(children.map(end));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const agent = start('sandbox-agent.js', { SANDBOX_AGENT_PORT: '0', SANDBOX_AGENT_TOKEN: AGENT_TOKEN });
    const service = start('main.js', {
      PORT: '0',
      DATA_DIR: directory,
      LOG_LEVEL: 'warn',
      LOG_FORMAT: 'pretty',
      NODE_ENV: 'development',
      ...outbound,
      DELIVERY_REPORT_SECONDS: '5',
    });
    const [[agentUrl], [url, key, signInLink]] = await Promise.all([
      printed(agent, /at (http:\S+)/),
      printed(service, /serving at (http:\S+)[^]*?\s(bx_\S+)[^]*?(http\S+#token=[\w-]{20,})/),
    ]);
    const exchange = async (...words: readonly string[]): Promise<string> => {
      const program = [join(import.meta.dirname, 'exchange.js'), ...words];
      const env = { ...given, ...outbound, DATA_DIR: directory };
      return (await promisify(execFile)(process.execPath, ['--no-warnings', ...program], { env })).stdout;
    };
    const sellerId = await connectSeller(exchange, `${agentUrl}/mcp`, join(directory, 'seller-token'));
    const ended = Promise.race(children.map((child) => once(child, 'exit')));
    return {
      url,
      key,
      signInLink,
      directory,
      ended,
      agent: { url: agentUrl, token: AGENT_TOKEN, sellerId },
      exchange,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
};

/** What an operator does once for each seller. @returns its id */
const connectSeller = async (
  exchange: StartedPrograms['exchange'],
  url: string,
  tokenFile: string,
): Promise<number> => {
  await writeFile(tokenFile, AGENT_TOKEN, { mode: 0o600 });
  const added = await exchange('sellers', 'add', '--name', 'Sandbox News', '--json');
  const { sellerId } = JSON.parse(added) as { readonly sellerId: number };
  await exchange('sellers', 'connect', String(sellerId), '--agent-url', url, '--token-file', tokenFile);
  await rm(tokenFile);
  return sellerId;
};

/** @returns the groups of the pattern, once the program has printed what it matches */
const printed = (child: ChildProcess, pattern: RegExp): Promise<[string, string, string]> =>
  new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const match = pattern.exec(text);
      if (match !== null) resolve([match[1] ?? '', match[2] ?? '', match[3] ?? '']);
      else if (/Another account and key/.test(text)) {
        reject(new Error('The database is not empty. Give the tour --url and --key of the service instead.'));
      }
    });
    child.once('exit', () => reject(new Error(`A program ended before it served:\n${text}`)));
    setTimeout(() => reject(new Error(`A program did not start in time:\n${text}`)), START_MS_MAX).unref();
  });

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
};
