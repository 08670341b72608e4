import { accept, refuse, type Decision } from '../decision.ts';
import { engineConnectionEvents, type EngineConnected, type EngineConnectionEvent } from './events.ts';
import type { AccountMapping, EngineConnection } from './resource.ts';

export const ENGINE_CONNECTION = 'engineConnection';

/** Connections belong to the account, not to an advertiser. */
export const WHOLE_ACCOUNT = 0;

/** One per account and engine: concurrent connects conflict, so at most one connection is live. */
export const engineConnectionStream = (customerId: number, slotId: string): string =>
  `${ENGINE_CONNECTION}-${customerId}-${slotId}`;

export type EngineConnectionState = { readonly status: 'none' } | EngineConnection;

const initialState = { status: 'none' } as const;

const evolve = (state: EngineConnectionState, event: EngineConnectionEvent): EngineConnectionState => {
  const at = event.occurredAt;
  if (event.type === 'EngineConnected') {
    return { ...event.data, status: 'connected', mappings: [], createdAt: at, updatedAt: at };
  }
  if (state.status === 'none') return state;
  const next = { ...state, updatedAt: at > state.updatedAt ? at : state.updatedAt };
  switch (event.type) {
    case 'EngineRekeyed':
      return rekeyed({ ...next, ...event.data, replacedSecretId: state.secretId });
    case 'EngineAccountSelected':
      return { ...next, selectedAccountId: event.data.accountId };
    case 'EngineAccountMapped':
      return { ...next, mappings: [...mappingsWithout(state, event.data.accountId), event.data] };
    case 'EngineDisconnected':
      return { ...next, status: 'disconnected' };
    default:
      return (event satisfies never, state);
  }
};

/** Drops what refers to accounts that the new key gives no access to. */
const rekeyed = ({ selectedAccountId, ...connection }: EngineConnection): EngineConnection => {
  const known = new Set(connection.accounts.map(({ id }) => id));
  const isSelected = selectedAccountId !== undefined && known.has(selectedAccountId);
  return {
    ...connection,
    ...(isSelected ? { selectedAccountId } : {}),
    mappings: connection.mappings.filter(({ accountId }) => known.has(accountId)),
  };
};

const mappingsWithout = ({ mappings }: EngineConnection, accountId: string): readonly AccountMapping[] =>
  mappings.filter((mapping) => mapping.accountId !== accountId);

export interface ConnectEngine {
  readonly type: 'ConnectEngine';
  readonly now: string;
  readonly connection: EngineConnected;
  /** The connection that must be live; undefined: any, or none. */
  readonly wanted: string | undefined;
}

interface OnConnection<Type extends string> {
  readonly type: Type;
  readonly now: string;
  readonly connectionId: string;
}

export interface SelectEngineAccount extends OnConnection<'SelectEngineAccount'> {
  readonly accountId: string;
}

export interface MapEngineAccount extends OnConnection<'MapEngineAccount'> {
  readonly mapping: AccountMapping;
  readonly advertiserIsArchived: boolean;
}

export type EngineConnectionCommand =
  ConnectEngine | SelectEngineAccount | MapEngineAccount | OnConnection<'DisconnectEngine'>;

export interface EngineConnectionRefusal {
  readonly reason: 'not-found' | 'unknown-account' | 'advertiser-archived';
}

type ConnectionDecision = Decision<EngineConnectionEvent, EngineConnectionRefusal>;

const connect = (
  { now, connection, wanted }: ConnectEngine,
  state: EngineConnectionState,
): ConnectionDecision => {
  const live = state.status === 'connected' ? state : undefined;
  if (wanted !== undefined && wanted !== live?.connectionId) return refuse({ reason: 'not-found' });
  if (live === undefined) return accept({ type: 'EngineConnected', data: connection, occurredAt: now });
  const { secretId, maskedKey, accounts, connectedBy } = connection;
  const data = { secretId, maskedKey, accounts, connectedBy };
  return accept({ type: 'EngineRekeyed', data, occurredAt: now });
};

const select = ({ now, accountId }: SelectEngineAccount, live: EngineConnection): ConnectionDecision => {
  if (!hasAccount(live, accountId)) return refuse({ reason: 'unknown-account' });
  if (live.selectedAccountId === accountId) return accept();
  return accept({ type: 'EngineAccountSelected', data: { accountId }, occurredAt: now });
};

const map = (
  { now, mapping, advertiserIsArchived }: MapEngineAccount,
  live: EngineConnection,
): ConnectionDecision => {
  const { accountId, advertiserId } = mapping;
  if (!hasAccount(live, accountId)) return refuse({ reason: 'unknown-account' });
  if (advertiserIsArchived) return refuse({ reason: 'advertiser-archived' });
  const holds = live.mappings.some(
    (other) => other.accountId === accountId && other.advertiserId === advertiserId,
  );
  if (holds) return accept();
  return accept({ type: 'EngineAccountMapped', data: mapping, occurredAt: now });
};

const hasAccount = ({ accounts }: EngineConnection, accountId: string): boolean =>
  accounts.some(({ id }) => id === accountId);

const decide = (command: EngineConnectionCommand, state: EngineConnectionState): ConnectionDecision => {
  if (command.type === 'ConnectEngine') return connect(command, state);
  if (state.status !== 'connected' || state.connectionId !== command.connectionId) {
    return refuse({ reason: 'not-found' });
  }
  switch (command.type) {
    case 'SelectEngineAccount':
      return select(command, state);
    case 'MapEngineAccount':
      return map(command, state);
    case 'DisconnectEngine':
      return accept({ type: 'EngineDisconnected', data: {}, occurredAt: command.now });
    default:
      return command satisfies never;
  }
};

export const engineConnectionFold = {
  category: ENGINE_CONNECTION,
  stream: engineConnectionStream,
  events: engineConnectionEvents,
  initialState,
  evolve,
};
export const engineConnectionAggregate = { ...engineConnectionFold, decide };
