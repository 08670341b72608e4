import type { Scope } from './access.ts';

/** For the user who decides whether a client gets the scope. */
export const scopeDescriptions: Readonly<Record<Scope, string>> = {
  'exchange:read': 'See campaigns, creatives, audiences and reports',
  'exchange:write': 'Create and change campaigns, creatives and audiences',
  'exchange:admin': 'Manage API keys, members and settings of the account',
  'exchange:review': 'Review creatives for your seller',
};
