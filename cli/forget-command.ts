import { createLog } from '../app/log.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { forgetAccount, forgetSubjects, withForgetting } from './forget.ts';
import { parseId } from './words.ts';

export const addForgetCommand = (program: OperatorCommand, tools: Tools): void => {
  const { backbone, config, print, remark, fail } = tools;
  program
    .command('forget')
    .description(
      'Forgets persons: nothing of them can be read in the log any more, and they go from audiences and from where ' +
        'those were brought. Ended, it is run again.',
    )
    .requiredOption('--account <ACCOUNT>', 'id of the account', parseId)
    .option(
      '--subject <ID...>',
      'A hash of an e-mail or phone, the buyer’s own id, or any other identifier. Without one: all persons of the ' +
        'account, which must be disabled.',
    )
    .exits({ 1: 'some places were written in clear, and stay in the log; or it could not be done' })
    .action(
      async ({
        account,
        subject = [],
      }: {
        readonly account: number;
        readonly subject?: readonly string[];
      }) => {
        const log = createLog('silent');
        const result = await withForgetting(await backbone(), config(), account, log, (forgetting) =>
          subject.length === 0 ? forgetAccount(forgetting) : forgetSubjects(forgetting, subject),
        );
        const { forgettingId, places, members, inClear } = result;
        print(
          result,
          forgettingId === undefined
            ? 'nothing was found'
            : `forgotten: ${places} places in the log, ${members} members of audiences (${forgettingId})`,
        );
        if (inClear === 0) return;
        remark(`${inClear} places were written in clear by an earlier version, and stay in the log`);
        fail();
      },
    );
};
