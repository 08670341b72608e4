import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface ChildServer {
  readonly port: number;
  /** Of a second listener, where the server has one. */
  readonly barePort: number;
  /** Processor time that it has used so far, us; of a server that tells (`tellCpuTime`). */
  cpuMicros(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a baseline server as a process of its own; its first line of output names its port. */
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
      const told = once(child, 'message') as Promise<[number]>;
      child.send('cpu');
      return (await told)[0];
    },
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
};

/** For a baseline server: answers whoever started it how much processor time it has used. */
export const tellCpuTime = (): void => {
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  // Ends with whoever started it.
  process.on('disconnect', () => process.exit());
};
