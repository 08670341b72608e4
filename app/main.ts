import { createFirstAccount } from './create-account.ts';
import { firstRunText, laterRunText } from './first-run.ts';
import { startService, type Service } from './service.ts';
import { isConfigError, readConfig, type Config } from './config.ts';
import { armFailpoints } from '../shared/async/failpoints.ts';
import { ListenError } from '../shared/http/server.ts';
import type { Logger } from 'pino';
import { createLog } from './log.ts';

/** A graceful stop that takes longer, from the end of `DRAIN_DELAY_MS` on, is cut. */
const STOP_MS_MAX = 25_000;

const main = async (): Promise<void> => {
  const config = readConfig(process.env);
  const log = createLog(config.LOG_LEVEL);
  if (config.EXCHANGE_FAILPOINTS !== undefined) {
    armFailpoints(config.EXCHANGE_FAILPOINTS, config.EXCHANGE_FAILPOINT_FILE);
  }
  const service = await startService(config, log);
  stopOnSignal(service, STOP_MS_MAX + config.DRAIN_DELAY_MS, log);
  log.info({ baseUrl: service.baseUrl, roles: config.ROLES }, 'listening');
  if (await service.prepared) await welcome(service, config, log);
};

/** On a developer's machine the first start opens an account; in production an operator does. */
const welcome = async ({ installation, baseUrl }: Service, config: Config, log: Logger): Promise<void> => {
  if (config.NODE_ENV !== 'development') return;
  try {
    const account = await createFirstAccount(installation);
    process.stdout.write(account === undefined ? laterRunText(baseUrl) : firstRunText(baseUrl, account));
  } catch (error) {
    // A database that goes away now is no reason to end a service that outlives that at any other moment.
    log.error({ err: error }, 'no first account was opened; `npm run -s exchange -- accounts create` does');
  }
};

const stopOnSignal = (service: Service, stopMsMax: number, log: Logger): void => {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(() => {
      log.error('the graceful stop took too long');
      process.exit(1);
    }, stopMsMax).unref();
    service.stop().then(
      () => log.info('stopped'),
      (error: unknown) => {
        log.error({ err: error }, 'the graceful stop failed');
        process.exitCode = 1;
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
};

try {
  await main();
} catch (error) {
  const isOperators = isConfigError(error) || error instanceof ListenError;
  process.stderr.write(
    `${isOperators ? error.message : String(error instanceof Error ? error.stack : error)}\n`,
  );
  process.exit(isConfigError(error) ? 2 : 1);
}
