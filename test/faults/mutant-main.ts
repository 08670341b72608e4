import { startService } from '../../app/service.ts';
import { readConfig } from '../../app/config.ts';
import { armFailpoints } from '../../shared/async/failpoints.ts';
import { createLog } from '../../app/log.ts';
import { conversionMutants } from './conversion-mutants.ts';
import { mutants } from './mutants.ts';

/** The service as `app/main.ts` starts it, with the planted defect that MUTANT names. */
const replacements = { ...mutants, ...conversionMutants }[process.env['MUTANT'] ?? ''];
if (replacements === undefined) throw new Error(`no mutant is named ${process.env['MUTANT'] ?? ''}`);
const config = readConfig(process.env);
if (config.EXCHANGE_FAILPOINTS !== undefined) {
  armFailpoints(config.EXCHANGE_FAILPOINTS, config.EXCHANGE_FAILPOINT_FILE);
}
await startService(config, createLog(config.LOG_LEVEL), undefined, replacements);
