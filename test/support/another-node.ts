import { readConfig } from '../../app/config.ts';
import { createLog } from '../../app/log.ts';
import { startService, type Replacements, type Service } from '../../app/service.ts';
import { freePort } from './free-port.ts';
import { generousLimits } from './generous-limits.ts';
import type { RunningService } from './running-service.ts';

export interface AnotherNode {
  readonly baseUrl: string;
  readonly port: number;
  readonly service: Service;
}

/** A process that answers requests for the same installation; it applies no events itself. */
export const startAnotherNode = async (
  beside: Pick<RunningService, 'dataDir' | 'stores'>,
  {
    port,
    settings = {},
    ...replace
  }: Replacements & { readonly port?: number; readonly settings?: Readonly<Record<string, string>> } = {},
): Promise<AnotherNode> => {
  const taken = port ?? (await freePort());
  const config = readConfig({
    NODE_ENV: 'test',
    PORT: String(taken),
    LOG_LEVEL: 'silent',
    DATA_DIR: beside.dataDir,
    ROLES: 'api',
    ...beside.stores,
    SECRET_KEYS: `test:${'A'.repeat(43)}`,
    ...generousLimits,
    ...settings,
  });
  const service = await startService(config, createLog('silent'), () => undefined, replace);
  await service.prepared;
  return { service, port: taken, baseUrl: `http://127.0.0.1:${taken}` };
};
