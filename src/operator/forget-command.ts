import { createLog } from '../shared/log.ts';
import { command } from './command.ts';
import { forgetAccount, forgetSubjects, withForgetting } from './forget.ts';
import { idOf, WordsError } from './words.ts';

export const forgetCommand = command({
  name: 'forget',
  places: [],
  options: {
    account: { type: 'string', value: 'ACCOUNT', needed: true },
    subject: {
      type: 'string',
      multiple: true,
      value: 'ID',
      about:
        'A hash of an e-mail or phone, the buyer’s own id, or any other identifier. Without one: all persons of the ' +
        'account, which must be disabled.',
    },
  },
  about:
    'Forgets persons: nothing of them can be read in the log any more, and they go from audiences and from where ' +
    'those were brought. Ended, it is run again.',
  statuses: { 1: 'some places were written in clear, and stay in the log; or it could not be done' },
  understand: (_, { account, subject: subjects = [] }) => {
    const customerId = accountOf(account);
    return async function* ({ backbone, config, remark }) {
      const log = createLog('silent');
      const result = await withForgetting(await backbone(), config(), customerId, log, (forgetting) =>
        subjects.length === 0 ? forgetAccount(forgetting) : forgetSubjects(forgetting, subjects),
      );
      const { forgettingId, places, members, inClear } = result;
      yield {
        value: result,
        text:
          forgettingId === undefined
            ? 'nothing was found'
            : `forgotten: ${places} places in the log, ${members} members of audiences (${forgettingId})`,
      };
      if (inClear === 0) return undefined;
      remark(`${inClear} places were written in clear by an earlier version, and stay in the log`);
      return 'amiss';
    };
  },
});

const accountOf = (account: string | undefined): number => {
  try {
    return idOf('ACCOUNT', account);
  } catch (error) {
    throw error instanceof WordsError ? new WordsError(`--account: ${error.message}`) : error;
  }
};
