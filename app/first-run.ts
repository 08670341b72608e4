import type { OpenedAccount } from '../command/accounts/open-account.ts';

export const firstRunText = (baseUrl: string, { customerId, apiKey }: OpenedAccount): string => `
Buyer Exchange is serving at ${baseUrl}

Account ${customerId} was opened for you. Its API key is shown only now; keep it:

  ${apiKey}

Try it:

  curl -s ${baseUrl}/api/v2/buyer/advertisers -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' -d '{"name":"Acme Shoes"}'

`;

export const laterRunText = (baseUrl: string): string => `
Buyer Exchange is serving at ${baseUrl}
Another account and key:  npm run -s exchange -- accounts create --name NAME

`;
