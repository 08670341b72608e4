import type { ClientBase } from 'pg';
import { ACCOUNT, accountStream } from '../domain/accounts/account.ts';
import type { WebhookEvent } from '../domain/webhooks/events.ts';
import type { WebhookSubscription } from '../domain/webhooks/resource.ts';
import {
  WEBHOOK_SUBSCRIPTION,
  webhookSubscriptionFold,
  webhookSubscriptionStream,
} from '../domain/webhooks/webhook-subscription.ts';
import { categoryOf, type Position, type RecordedEvent } from '../shared/event-store/event-store.ts';
import { int8Array, uuidArray } from '../shared/postgres/binary-array.ts';
import { decodeEvent } from './engine/decode-event.ts';
import { foldStream } from './engine/fold-streams.ts';
import { UnprojectableEventError } from './engine/projection.ts';
import { UUID_STREAM } from './folded-rows.ts';

/** A subscription as it was after the last applied event of its account. */
export interface Endpoint {
  readonly customerId: number;
  readonly subscriptionId: string;
  readonly subscription: WebhookSubscription;
  readonly revision: number;
  /** The position of its creation: it gets no notification of earlier events. */
  readonly createdPosition: Position;
  /** Raised by each event that ends or restarts deliveries; deliveries of earlier generations are affected. */
  readonly generation: number;
  /** The generation after the last event that ended deliveries. */
  readonly endedGeneration: number;
  /** The account is disabled. */
  readonly isSuspended: boolean;
  readonly changedAt: string;
}

type Cause = WebhookEvent | { readonly type: 'AccountDisabled' };

/** An event, and an endpoint after it. */
export interface EndpointChange {
  readonly cause: Cause;
  readonly endpoint: Endpoint;
}

/** The endpoints of the accounts of one batch. Changes are in memory until `save`. */
export interface Endpoints {
  /** Those that get deliveries, sent at once or later. */
  live(customerId: number): readonly Endpoint[];
  isActive(customerId: number, subscriptionId: string): boolean;
  /** @returns what it changed; nothing if the event is already applied */
  apply(event: RecordedEvent): readonly EndpointChange[];
  save(client: ClientBase): Promise<void>;
}

/** Deliveries of `paused` ones wait. */
const isLive = ({ subscription: { status }, isSuspended }: Endpoint): boolean =>
  !isSuspended && (status === 'active' || status === 'paused');

const endsDeliveries = (type: Cause['type']): boolean =>
  type === 'WebhookSubscriptionDisabled' ||
  type === 'WebhookSubscriptionDeleted' ||
  type === 'AccountDisabled';

const restartsDeliveries = (type: Cause['type']): boolean =>
  type === 'WebhookRedeliveryRequested' || type === 'WebhookRecoveryRequested';

const afterCause = (endpoint: Endpoint, type: Cause['type']): Endpoint => {
  const generation = endpoint.generation + 1;
  if (endsDeliveries(type)) return { ...endpoint, generation, endedGeneration: generation };
  return restartsDeliveries(type) ? { ...endpoint, generation } : endpoint;
};

export const loadEndpoints = async (
  client: ClientBase,
  events: readonly RecordedEvent[],
): Promise<Endpoints> => {
  const accounts = new Set(events.map(({ metadata }) => metadata.customerId));
  const named = new Set(events.filter(isOfSubscription).map((event) => placeOf(event).subscriptionId));
  const { rows } = await client.query<EndpointRow>({
    name: 'webhook-endpoints-load',
    // Deleted ones are only read for their own events: redelivered ones must find them.
    text: `select a.customer_id, e.subscription_id, e.revision, e.created_position, e.generation, e.ended_generation,
             e.body, e.changed_at, d.customer_id is not null as is_disabled
           from unnest($1::bigint[]) as a(customer_id)
           left join webhook_endpoints e on e.customer_id = a.customer_id
             and (e.status <> 'deleted' or e.subscription_id = any($2::uuid[]))
           left join webhook_disabled_accounts d on d.customer_id = a.customer_id
           where e.customer_id is not null or d.customer_id is not null`,
    values: [int8Array([...accounts]), uuidArray([...named])],
  });
  return openEndpoints(rows);
};

interface EndpointRow {
  readonly customer_id: string;
  readonly subscription_id: string | null;
  readonly revision: string;
  readonly created_position: Position;
  readonly generation: number;
  readonly ended_generation: number;
  readonly body: string;
  readonly changed_at: Date;
  readonly is_disabled: boolean;
}

const endpointOf = (row: EndpointRow, subscriptionId: string): Endpoint => ({
  customerId: Number(row.customer_id),
  subscriptionId,
  subscription: JSON.parse(row.body) as WebhookSubscription,
  revision: Number(row.revision),
  createdPosition: row.created_position,
  generation: row.generation,
  endedGeneration: row.ended_generation,
  isSuspended: row.is_disabled,
  changedAt: row.changed_at.toISOString(),
});

interface Book {
  readonly accounts: Map<number, Map<string, Endpoint>>;
  readonly disabled: Map<number, boolean>;
  /** By account; absent after a change. */
  readonly live: Map<number, readonly Endpoint[]>;
  readonly changed: Map<string, Endpoint>;
  readonly changedAccounts: Set<number>;
}

const endpointsIn = ({ accounts }: Book, customerId: number): readonly Endpoint[] => [
  ...(accounts.get(customerId)?.values() ?? []),
];

const put = ({ accounts, live }: Book, endpoint: Endpoint): void => {
  const own = accounts.get(endpoint.customerId) ?? new Map<string, Endpoint>();
  accounts.set(endpoint.customerId, own.set(endpoint.subscriptionId, endpoint));
  live.delete(endpoint.customerId);
};

const change = (book: Book, endpoint: Endpoint): Endpoint => {
  put(book, endpoint);
  book.changed.set(endpoint.subscriptionId, endpoint);
  return endpoint;
};

const openEndpoints = (rows: readonly EndpointRow[]): Endpoints => {
  const book: Book = {
    accounts: new Map(),
    disabled: new Map(),
    live: new Map(),
    changed: new Map(),
    changedAccounts: new Set(),
  };
  for (const row of rows) {
    if (row.is_disabled) book.disabled.set(Number(row.customer_id), true);
    if (row.subscription_id !== null) put(book, endpointOf(row, row.subscription_id));
  }
  return {
    isActive: (customerId, subscriptionId) => {
      const endpoint = book.accounts.get(customerId)?.get(subscriptionId);
      return endpoint !== undefined && shownStatus(endpoint) === 'active';
    },
    live: (customerId) => {
      const known = book.live.get(customerId) ?? endpointsIn(book, customerId).filter(isLive);
      book.live.set(customerId, known);
      return known;
    },
    apply: (event) => {
      if (isOfSubscription(event)) return applyOwn(book, event);
      return isOfAccess(event) ? applyAccess(book, event) : [];
    },
    save: async (client) => {
      await saveEndpoints(client, [...book.changed.values()]);
      await saveAccess(
        client,
        [...book.changedAccounts].map((customerId) => [customerId, book.disabled.get(customerId) === true]),
      );
    },
  };
};

const applyOwn = (book: Book, event: RecordedEvent): readonly EndpointChange[] => {
  const { customerId, subscriptionId } = placeOf(event);
  const applied = evolveEndpoint(event, book.accounts.get(customerId)?.get(subscriptionId));
  if (applied === undefined) return [];
  const isSuspended = book.disabled.get(customerId) === true;
  return [{ ...applied, endpoint: change(book, { ...applied.endpoint, isSuspended }) }];
};

const applyAccess = (book: Book, event: RecordedEvent): readonly EndpointChange[] => {
  const { customerId, occurredAt: changedAt } = event.metadata;
  const isSuspended = event.type === 'AccountDisabled';
  if (event.stream !== accountStream(customerId)) {
    throw new UnprojectableEventError(event, `the stream does not belong to account ${customerId}`);
  }
  if ((book.disabled.get(customerId) ?? false) === isSuspended) return [];
  book.disabled.set(customerId, isSuspended);
  book.changedAccounts.add(customerId);
  const kept = endpointsIn(book, customerId).filter(({ subscription }) => subscription.status !== 'deleted');
  return kept.flatMap((before) => {
    const after = isSuspended ? afterCause(before, 'AccountDisabled') : before;
    const endpoint = change(book, { ...after, isSuspended, changedAt });
    return isSuspended ? [{ cause: { type: 'AccountDisabled' as const }, endpoint }] : [];
  });
};

const isOfSubscription = ({ stream }: RecordedEvent): boolean => categoryOf(stream) === WEBHOOK_SUBSCRIPTION;

const isOfAccess = ({ stream, type }: RecordedEvent): boolean =>
  (type === 'AccountDisabled' || type === 'AccountEnabled') && categoryOf(stream) === ACCOUNT;

const placeOf = (event: RecordedEvent): Pick<Endpoint, 'customerId' | 'subscriptionId'> => {
  const { customerId } = event.metadata;
  const subscriptionId = UUID_STREAM.exec(event.stream)?.[2] ?? '';
  if (webhookSubscriptionStream(customerId, subscriptionId) !== event.stream) {
    throw new UnprojectableEventError(event, `the stream does not belong to account ${customerId}`);
  }
  return { customerId, subscriptionId };
};

/** @returns undefined if it is already applied @throws UnprojectableEventError, also for a gap in the stream */
const evolveEndpoint = (event: RecordedEvent, before: Endpoint | undefined): EndpointChange | undefined => {
  const { initialState, evolve, events: schemas } = webhookSubscriptionFold;
  const start = { state: before?.subscription ?? initialState, revision: before?.revision ?? -1 };
  let cause: WebhookEvent | undefined;
  const { state, revision } = foldStream(start, [event], (folded, recorded) => {
    cause = decodeEvent(recorded, schemas) as WebhookEvent;
    return evolve(folded, cause);
  });
  if (cause === undefined) return undefined;
  if (state.status === 'none') throw new UnprojectableEventError(event, 'no event has created it');
  const endpoint: Endpoint = {
    ...placeOf(event),
    createdPosition: before?.createdPosition ?? event.position,
    generation: before?.generation ?? 0,
    endedGeneration: before?.endedGeneration ?? 0,
    isSuspended: false,
    subscription: state,
    revision,
    changedAt: event.metadata.occurredAt,
  };
  return { cause, endpoint: afterCause(endpoint, cause.type) };
};

const shownStatus = ({ subscription: { status, disabled }, isSuspended }: Endpoint): string => {
  if (status === 'deleted') return status;
  if (isSuspended) return 'suspended';
  if (status === 'disabled') return disabled?.reason === 'gone' ? 'gone' : 'failed';
  return status;
};

const rowOf = (endpoint: Endpoint): Readonly<Record<string, unknown>> => {
  const { subscription } = endpoint;
  return {
    customer_id: endpoint.customerId,
    subscription_id: endpoint.subscriptionId,
    status: shownStatus(endpoint),
    generation: endpoint.generation,
    ended_generation: endpoint.endedGeneration,
    created_position: endpoint.createdPosition,
    body: JSON.stringify(subscription),
    url: subscription.url,
    event_types: subscription.eventTypes,
    advertiser_ids: subscription.advertiserIds,
    payload: subscription.payload,
    authentication: subscription.authentication,
    secret_id: subscription.secretId,
    previous_secret_id: subscription.previousSecret?.secretId,
    previous_until: subscription.previousSecret?.until,
    revision: endpoint.revision,
    changed_at: endpoint.changedAt,
  };
};

const CHANGING = [
  'status',
  'generation',
  'ended_generation',
  'body',
  'url',
  'event_types',
  'advertiser_ids',
  'payload',
  'authentication',
  'secret_id',
  'previous_secret_id',
  'previous_until',
  'revision',
  'changed_at',
];
const COLUMNS = ['customer_id', 'subscription_id', 'created_position', ...CHANGING];

const saveEndpoints = async (client: ClientBase, endpoints: readonly Endpoint[]): Promise<void> => {
  if (endpoints.length === 0) return;
  await client.query({
    name: 'webhook-endpoints-write',
    // Names the columns: those that a later version adds keep their defaults.
    text: `insert into webhook_endpoints (${COLUMNS.join(', ')})
           select ${COLUMNS.join(', ')} from jsonb_populate_recordset(null::webhook_endpoints, $1::jsonb)
           order by customer_id, subscription_id
           on conflict (customer_id, subscription_id) do update
             set ${CHANGING.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    values: [JSON.stringify(endpoints.map(rowOf))],
  });
};

const saveAccess = async (
  client: ClientBase,
  accounts: readonly (readonly [customerId: number, isDisabled: boolean])[],
): Promise<void> => {
  if (accounts.length === 0) return;
  const of = (wanted: boolean): Buffer =>
    int8Array(accounts.flatMap(([customerId, isDisabled]) => (isDisabled === wanted ? [customerId] : [])));
  await client.query({
    name: 'webhook-accounts-disabled',
    text: `insert into webhook_disabled_accounts select unnest($1::bigint[]) order by 1 on conflict do nothing`,
    values: [of(true)],
  });
  await client.query({
    name: 'webhook-accounts-enabled',
    text: `delete from webhook_disabled_accounts where customer_id = any($1::bigint[])`,
    values: [of(false)],
  });
};
