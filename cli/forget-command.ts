import { createLog } from '../app/log.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { forgetAccount, forgetSubjects, withForgetting } from './forget.ts';
import { requireAccount } from './operate-accounts.ts';
import { parseId } from './parse-args.ts';

export const addForgetCommand = (program: OperatorCommand, tools: Tools): void => {
  const { installation, config, print, remark, fail } = tools;
  program
    .command('forget')
    .description(
      'Forgets persons: their data in the log becomes unreadable, and they are deleted from all audiences, here and at ' +
        'agents. For a whole account, the addresses, logins and sessions of its users are deleted, too. Run it again after an interruption.',
    )
    .requiredOption('--account <ACCOUNT>', 'id of the account', parseId)
    .option(
      '--subject <ID...>',
      'A hash of an e-mail or phone, the buyer’s own id, or any other identifier. Without this option: all persons ' +
        'of the account, which must be disabled.',
    )
    .exits({ 1: 'some data in the log is not encrypted and stays readable; or the command failed' })
    .example('--account 7 --subject crm-1 --subject 6f1d...', '--account 7')
    .action(
      async ({
        account,
        subject = [],
      }: {
        readonly account: number;
        readonly subject?: readonly string[];
      }) => {
        const log = createLog('silent');
        await requireAccount(await installation(), account);
        const result = await withForgetting(await installation(), config(), account, log, (forgetting) =>
          subject.length === 0 ? forgetAccount(forgetting) : forgetSubjects(forgetting, subject),
        );
        const { forgettingId, places, members, inClear } = result;
        print(
          result,
          forgettingId === undefined
            ? 'no data was found'
            : `forgotten: ${places} places in the log, ${members} members of audiences (${forgettingId})`,
        );
        if (inClear === 0) return;
        remark(
          `${inClear} places in the log were written unencrypted by an earlier version, and stay readable`,
        );
        fail();
      },
    );
};
