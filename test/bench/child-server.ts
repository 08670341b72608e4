import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface ChildServer {
  readonly port: number;
  /** Of a second listener, where the server has one. */
  readonly barePort: number;
  stop(): Promise<void>;
}

/** Starts a baseline server as a process of its own; its first line of output names its port. */
export const startChildServer = async (
  file: string,
  environment: Readonly<Record<string, string>>,
): Promise<ChildServer> => {
  const child = spawn(process.execPath, [join(import.meta.dirname, file)], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { port, barePort = 0 } = JSON.parse(line) as { port: number; barePort?: number };
  return {
    port,
    barePort,
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
};
