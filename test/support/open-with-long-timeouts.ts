import { openInstallation, type Installation } from '../../app/installation.ts';
import type { Config } from '../../app/config.ts';
import { createLog } from '../../app/log.ts';
import { operatorStoreTimeouts } from '../../app/store-timeouts.ts';

/** An installation for the test itself, with timeouts long enough for a busy machine. */
export const openWithLongTimeouts = (config: Config, applicationName: string): Promise<Installation> =>
  openInstallation(config, applicationName, createLog('silent'), operatorStoreTimeouts);
