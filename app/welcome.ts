import { resolve } from 'node:path';
import type { OpenedAccount } from '../command/accounts/open-account.ts';
import { pageLink } from '../command/accounts/page-link.ts';
import { databaseAddress } from '../shared/postgres/connection-problem.ts';
import type { Config } from './config.ts';
import { version } from './version.ts';

export interface FirstAccount extends OpenedAccount {
  /** Its first user signs in with the one-time link that contains the token. */
  readonly token: string;
}

/** @param account was opened by this start; its key and its link are shown only now */
export const welcomeText = (
  baseUrl: string,
  { DATABASE_URL, DATA_DIR }: Pick<Config, 'DATABASE_URL' | 'DATA_DIR'>,
  account: FirstAccount | undefined,
): string => {
  const branches = [
    ['Console', `${baseUrl}/console`],
    ['API', `${baseUrl}/api/v2/buyer`],
    ['Reference', `${baseUrl}/docs`],
    ['Status', `${baseUrl}/ready`],
    ['Data', resolve(DATA_DIR)],
    ...(DATABASE_URL === undefined ? [] : [['Database', databaseAddress(DATABASE_URL)]]),
    ...(account === undefined
      ? []
      : [
          ['Key', account.apiKey],
          ['Sign in', pageLink(baseUrl, 'set-up', account.token)],
        ]),
    ['Stop', 'Ctrl-C'],
  ];
  const tree = branches.map(
    ([name = '', text], index) => `${index === branches.length - 1 ? '└─' : '├─'} ${name.padEnd(10)} ${text}`,
  );
  return `
Buyer Exchange ${version} is serving at ${baseUrl}

${tree.join('\n')}

${account === undefined ? ANOTHER : firstSteps(baseUrl, account)}
`;
};

const ANOTHER = 'Another account and key:  npx exchange accounts create --name NAME\n';

const firstSteps = (baseUrl: string, { customerId, apiKey }: FirstAccount): string =>
  `Account ${customerId} was opened for you. Its API key is shown only now; keep it.
The link to sign in works once, within 24 hours; \`npx exchange users link ${customerId} ${customerId}-1\` prints another.

Try it:

  curl -s ${baseUrl}/api/v2/buyer/advertisers -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' -d '{"name":"Acme Shoes"}'
`;
