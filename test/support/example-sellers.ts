import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { packageDirectory } from '../../app/version.ts';
import { testProgram } from './bundles.ts';
import { freePort } from './free-port.ts';

export interface ExampleSeller {
  readonly url: string;
  readonly token: string;
  stop(): Promise<void>;
}

/** The token that the examples come with. */
const TOKEN = 'sk_harness_do_not_use_in_prod';
const inPackages = (...path: readonly string[]): string => join(packageDirectory, 'node_modules', ...path);

/**
 * One of the example adapters of the AdCP package, with the platform that it wraps. Both are the package's own, and
 * neither needs a network.
 */
export const startExampleSeller = async (kind: 'guaranteed' | 'non-guaranteed'): Promise<ExampleSeller> => {
  const name = `hello_seller_adapter_${kind.replace('-', '_')}`;
  const program = testProgram(`adapters/${name}.mjs`);
  await promisify(execFile)(inPackages('.bin', 'esbuild'), [
    inPackages('@adcp', 'sdk', 'examples', `${name}.ts`),
    '--bundle',
    '--platform=node',
    '--format=esm',
    '--packages=external',
    `--outfile=${program}`,
  ]);
  const [upstream, port] = [await freePort(), await freePort()];
  const children: ChildProcess[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(children.map((child) => ended(child)));
  };
  try {
    const platform = [inPackages('.bin', 'adcp'), 'mock-server', `sales-${kind}`, '--port', String(upstream)];
    children.push(await started(platform, {}));
    const environment = { PORT: String(port), UPSTREAM_URL: `http://127.0.0.1:${upstream}` };
    children.push(await started([program], environment));
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `http://127.0.0.1:${port}/mcp`, token: TOKEN, stop };
};

const started = async (
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<ChildProcess> => {
  const child = spawn(process.execPath, ['--no-warnings', ...args], {
    // Outside of tests the examples refuse to keep tasks in memory.
    env: { ...process.env, NODE_ENV: 'test', ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  process.once('exit', () => void child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout })) {
    if (!/running at http/.test(line)) continue;
    // It would stop when the pipe is full.
    child.stdout.resume();
    return child;
  }
  throw new Error(`${args[0]} did not start`);
};

const ended = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const end = once(child, 'exit');
  child.kill('SIGKILL');
  await end;
};
