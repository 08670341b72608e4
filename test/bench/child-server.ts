import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface ChildServer {
  readonly port: number;
  /** The port of the second listener, if the server has one. */
  readonly barePort: number;
  /** Processor time used so far, in us, of a server that calls `reportCpuTime`. */
  cpuMicros(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a baseline server as a separate process. Its first line of output is its port. */
export const startChildServer = async (
  file: string,
  environment: Readonly<Record<string, string>>,
): Promise<ChildServer> => {
  const child = spawn(process.execPath, [join(import.meta.dirname, file)], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  if (child.stdout === null) throw new Error('a process without output');
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { port, barePort = 0 } = JSON.parse(line) as { port: number; barePort?: number };
  return {
    port,
    barePort,
    cpuMicros: async () => {
      const answered = once(child, 'message') as Promise<[number]>;
      child.send('cpu');
      return (await answered)[0];
    },
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
};

/** Called in a baseline server: answers its parent's questions about processor time. */
export const reportCpuTime = (): void => {
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  // Ends with its parent.
  process.on('disconnect', () => process.exit());
};
