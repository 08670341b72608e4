import { measureCollected, type CollectedMemory } from './collected-memory.ts';
import { freePort } from './free-port.ts';
import { generousLimits } from './generous-limits.ts';
import { startProgram } from './program.ts';
import type { RunningService } from './running-service.ts';
import { until } from './until.ts';

export interface MeasuredNode {
  readonly baseUrl: string;
  readonly measure: () => Promise<CollectedMemory>;
  readonly end: () => Promise<unknown>;
}

/** A separate process that answers requests for the same installation, and says what it keeps in memory. */
export const startMeasuredNode = async ({
  stores,
  dataDir,
}: Pick<RunningService, 'dataDir' | 'stores'>): Promise<MeasuredNode> => {
  const { environment, measure } = await measureCollected();
  const port = await freePort();
  const node = startProgram({
    ...environment,
    ...stores,
    ...generousLimits,
    NODE_ENV: 'test',
    PORT: String(port),
    ROLES: 'api',
    LOG_LEVEL: 'silent',
    DATA_DIR: dataDir,
    SECRET_KEYS: `test:${'A'.repeat(43)}`,
  });
  const baseUrl = `http://127.0.0.1:${port}`;
  const end = () => node.end('SIGKILL');
  const isReady = async () => (await fetch(`${baseUrl}/ready`).catch(() => undefined))?.ok === true;
  await until(isReady).catch(async (error: unknown) => {
    await end();
    throw error;
  });
  return { baseUrl, measure, end };
};
