import { accept, refuse, type Decider, type Decision } from '../decision.ts';
import type { AccountEvent } from './account-events.ts';

export const accountStream = (customerId: number): string => `account-${customerId}`;

export type Account =
  | { readonly status: 'NONE' }
  | {
      readonly status: 'OPEN';
      readonly customerId: number;
      readonly name: string;
      readonly keyIds: readonly string[];
    };

const evolve = (state: Account, event: AccountEvent): Account => {
  switch (event.type) {
    case 'AccountOpened':
      return { status: 'OPEN', ...event.data, keyIds: [] };
    case 'ApiKeyIssued':
      return state.status === 'OPEN' ? { ...state, keyIds: [...state.keyIds, event.data.keyId] } : state;
    default:
      return (event satisfies never, state);
  }
};

export interface OpenAccount {
  readonly type: 'OpenAccount';
  readonly now: string;
  readonly customerId: number;
  readonly name: string;
  readonly firstKey: { readonly keyId: string; readonly name: string; readonly maskedKey: string };
}

export type AccountRefusal = { readonly reason: 'already-open' };

const decide = (command: OpenAccount, state: Account): Decision<AccountEvent, AccountRefusal> => {
  if (state.status !== 'NONE') return refuse({ reason: 'already-open' });
  const { now: occurredAt, customerId, name, firstKey } = command;
  return accept(
    { type: 'AccountOpened', data: { customerId, name }, occurredAt },
    { type: 'ApiKeyIssued', data: firstKey, occurredAt },
  );
};

export const accountDecider: Decider<Account, OpenAccount, AccountEvent, AccountRefusal> = {
  initialState: { status: 'NONE' },
  evolve,
  decide,
};
