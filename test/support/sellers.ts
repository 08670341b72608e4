import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { testProgram } from './bundles.ts';

export interface SellerCall {
  readonly how: string;
  readonly asked: Readonly<Record<string, unknown>>;
  readonly authorization?: string;
}

export interface TestSellers {
  /** @param how its behaviour (`sellers-process.ts`) */
  url(how: string): string;
  /** The calls of `get_products` that reached the sellers, in order. */
  calls(): Promise<readonly SellerCall[]>;
  stop(): Promise<void>;
}

/** In a separate process: Jest cannot load the builder of servers. */
export const startSellers = async (): Promise<TestSellers> => {
  const child = spawn(process.execPath, ['--no-warnings', testProgram('support/sellers-process.js')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const origin = await addressIn(createInterface({ input: child.stdout }));
  return {
    url: (how) => `${origin}/${how}/mcp`,
    calls: async () => (await (await fetch(`${origin}/calls`)).json()) as readonly SellerCall[],
    stop: async () => {
      process.off('exit', kill);
      const ended = once(child, 'exit');
      kill();
      await ended;
    },
  };
};

/** @returns the address in the first line that names one @throws Error if the program ends before */
export const addressIn = async (lines: AsyncIterable<string>): Promise<string> => {
  for await (const line of lines) {
    const [, address] = /is at (http:\S+)/.exec(line) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error('the program did not start');
};
