import { startService } from '../../app/service.ts';
import { readConfig } from '../../app/config.ts';
import { createLog } from '../../app/log.ts';
import { createInvariantCheck } from '../support/answer-invariants.ts';
import { createResponseCheck } from '../support/response-check.ts';
import { reportToParent } from './report-to-parent.ts';

/** The service as `app/main.ts` starts it. It checks every answer, as in the API tests. */
const config = readConfig(process.env);
const declared = createResponseCheck();
const invariant = createInvariantCheck();
const service = await startService(config, createLog(config.LOG_LEVEL), (route, status, text, headers) => {
  declared.onAnswer(route, status, text);
  invariant.onAnswer(route, status, text, headers);
});
await service.prepared;
reportToParent(Number(new URL(service.baseUrl).port), () => [
  ...declared.problems.splice(0),
  ...invariant.problems.splice(0),
]);
