import { readConfig } from '../../app/config.ts';
import { createLog } from '../../app/log.ts';
import { startService } from '../../app/service.ts';
import { armFailpoints } from '../../shared/async/failpoints.ts';
import { composeSample } from './sample-mails.ts';

/** The service as `app/main.ts` starts it, with mails of the tests. */
const config = readConfig(process.env);
if (config.EXCHANGE_FAILPOINTS !== undefined) {
  armFailpoints(config.EXCHANGE_FAILPOINTS, config.EXCHANGE_FAILPOINT_FILE);
}
await startService(config, createLog(config.LOG_LEVEL), undefined, { composeMail: composeSample });
