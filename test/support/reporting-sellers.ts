import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { testProgram } from './bundles.ts';
import { addressIn } from './sellers.ts';

export interface ReportingSellers {
  /** @param how its behaviour (`reporting-sellers-process.ts`), and after `_` what tells it from others */
  url(how: string): string;
  /** Number of reports that each was asked for. */
  calls(): Promise<Readonly<Record<string, number>>>;
  stop(): Promise<void>;
}

/** In a separate process: Jest cannot load the builder of servers. */
export const startReportingSellers = async (): Promise<ReportingSellers> => {
  const program = testProgram('support/reporting-sellers-process.js');
  const child = spawn(process.execPath, ['--no-warnings', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const origin = await addressIn(createInterface({ input: child.stdout }));
  return {
    url: (how) => `${origin}/${how}/mcp`,
    calls: async () => (await (await fetch(`${origin}/calls`)).json()) as Readonly<Record<string, number>>,
    stop: async () => {
      process.off('exit', kill);
      const ended = once(child, 'exit');
      kill();
      await ended;
    },
  };
};
