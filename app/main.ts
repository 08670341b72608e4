import { createFirstAccount, linkOfFirstUser } from './create-account.ts';
import type { Installation } from './installation.ts';
import { welcomeText, type FirstAccount } from './welcome.ts';
import { startService, type Service } from './service.ts';
import { isConfigError, readConfig, type Config } from './config.ts';
import { refuseTooMuchMemory } from './conversions-memory.ts';
import { armFailpoints } from '../shared/async/failpoints.ts';
import { refuseUnusableAddress } from '../shared/http/listen-error.ts';
import { refuseUnusableFolder } from '../shared/storage/data-folder.ts';
import type { Logger } from 'pino';
import type { Tracing } from '../shared/tracing/start-tracing.ts';
import { version } from './version.ts';
import { isPretty, openLog } from './log.ts';
import { problemText } from './problem-text.ts';

/** A graceful stop that takes longer, from the end of `DRAIN_DELAY_MS` on, is cut. */
const STOP_MS_MAX = 25_000;

const main = async (): Promise<void> => {
  const config = readConfig(process.env);
  const log = await openLog(config, process.stdout);
  if (config.EXCHANGE_FAILPOINTS !== undefined) {
    armFailpoints(config.EXCHANGE_FAILPOINTS, config.EXCHANGE_FAILPOINT_FILE);
  }
  refuseTooMuchMemory(config);
  await refuseUnusableAddress(config.HOST, config.PORT);
  if (keepsKeyFile(config)) await refuseUnusableFolder(config.DATA_DIR);
  const tracing =
    config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined ? undefined : await startTraces(config.ROLES);
  const service = await startService(config, log);
  const stop = async (): Promise<void> => {
    try {
      await service.stop();
    } finally {
      await tracing?.stop();
    }
  };
  stopOnSignal({ stop }, STOP_MS_MAX + config.DRAIN_DELAY_MS, log);
  log.info({ baseUrl: service.baseUrl, operatorUrl: service.operatorUrl, roles: config.ROLES }, 'listening');
  const isPrepared = await service.prepared.catch(async (error: unknown) => {
    await service.stop();
    throw error;
  });
  if (isPrepared) await welcome(service, config, log);
};

const startTraces = async (roles: readonly string[]): Promise<Tracing> =>
  (await import('../shared/tracing/start-tracing.ts')).startTracing(version, roles);

/** A projector needs no secrets. */
const keepsKeyFile = ({ SECRET_KEYS, ROLES }: Config): boolean =>
  SECRET_KEYS === undefined && ROLES.some((role) => role !== 'projector');

/** In development the first start opens an account. With a JSON log, nothing else uses standard output. */
const welcome = async ({ installation, baseUrl }: Service, config: Config, log: Logger): Promise<void> => {
  const isDevelopment = config.NODE_ENV === 'development';
  const isForPeople = isPretty(config, process.stdout);
  if (!isDevelopment && !isForPeople) return;
  try {
    const account = isDevelopment ? await openFirst(installation) : undefined;
    const output = isForPeople ? process.stdout : process.stderr;
    output.write(welcomeText(baseUrl, config, account));
  } catch (error) {
    // A running service survives the loss of its database, so a starting one does, too.
    log.error({ err: error }, 'no first account was opened; `npx exchange accounts create` does');
  }
};

const openFirst = async (installation: Installation): Promise<FirstAccount | undefined> => {
  const account = await createFirstAccount(installation);
  return account && { ...account, ...(await linkOfFirstUser(installation, account.customerId)) };
};

const stopOnSignal = (service: Pick<Service, 'stop'>, stopMsMax: number, log: Logger): void => {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(() => {
      log.error('the graceful stop took too long');
      process.exit(1);
    }, stopMsMax).unref();
    // Ends the process explicitly: look-ups of the event store's client that no caller waits for (TXT records) would
    // otherwise keep it for up to half a minute where a name server is slow, until the timer above reports a failure.
    service.stop().then(
      () => {
        log.info('stopped');
        process.exit();
      },
      (error: unknown) => {
        log.error({ err: error }, 'the graceful stop failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
};

try {
  await main();
} catch (error) {
  process.stderr.write(`${problemText(error)}\n`);
  process.exit(isConfigError(error) ? 2 : 1);
}
