import { accept, refuse, type Decision } from '../decision.ts';
import { changedMembers, withChanges } from '../fields.ts';
import { webhookEvents, type WebhookEvent } from './events.ts';
import type { DisabledReason, WebhookSubscription } from './resource.ts';

export const WEBHOOK_SUBSCRIPTION = 'webhook';

export const webhookSubscriptionStream = (customerId: number, subscriptionId: string): string =>
  `${WEBHOOK_SUBSCRIPTION}-${customerId}-${subscriptionId}`;

export type WebhookSubscriptionState = { readonly status: 'none' } | WebhookSubscription;

const initialState = { status: 'none' } as const;

const evolve = (state: WebhookSubscriptionState, event: WebhookEvent): WebhookSubscriptionState => {
  const updatedAt = event.occurredAt;
  if (event.type === 'WebhookSubscriptionCreated') {
    return { ...event.data, status: 'active', createdAt: updatedAt, updatedAt };
  }
  if (state.status === 'none') return state;
  switch (event.type) {
    case 'WebhookSubscriptionUpdated':
      return { ...withChanges(state, event.data.changes), updatedAt };
    case 'WebhookSecretRotated': {
      const { secretId, previousSecretId, overlapUntil: until } = event.data;
      return { ...state, secretId, previousSecret: { secretId: previousSecretId, until }, updatedAt };
    }
    case 'WebhookSubscriptionPaused':
      return { ...state, status: 'paused', updatedAt };
    case 'WebhookSubscriptionDisabled':
      return { ...state, status: 'disabled', disabled: event.data, updatedAt };
    case 'WebhookSubscriptionEnabled':
      return { ...state, status: 'active', disabled: undefined, updatedAt };
    case 'WebhookSubscriptionDeleted':
      return { ...state, status: 'deleted', updatedAt };
    case 'WebhookTestRequested':
    case 'WebhookRedeliveryRequested':
    case 'WebhookRecoveryRequested':
    case 'WebhookReplayRequested':
      return state;
    default:
      return (event satisfies never, state);
  }
};

interface Command<Type extends string> {
  readonly type: Type;
  readonly now: string;
}

type EventData<Type extends WebhookEvent['type']> = Extract<WebhookEvent, { readonly type: Type }>['data'];

export interface CreateSubscription extends Command<'CreateSubscription'> {
  readonly subscription: EventData<'WebhookSubscriptionCreated'>;
}

export interface UpdateSubscription extends Command<'UpdateSubscription'> {
  readonly changes: EventData<'WebhookSubscriptionUpdated'>['changes'];
  /** `inactive`: paused. Undefined leaves it. */
  readonly status?: 'active' | 'inactive' | undefined;
}

export interface RotateSecret extends Command<'RotateSecret'> {
  readonly secretId: string;
  readonly overlapUntil: string;
  /** Ends the overlap of an earlier rotation: its old secret is no longer used. */
  readonly force: boolean;
}

export interface DisableSubscription extends Command<'DisableSubscription'> {
  readonly reason: DisabledReason;
  /** A sentence for the subscriber. */
  readonly message: string;
  /** When the attempt began that led to this. A subscription that was changed since stays as it is. */
  readonly attemptAt: string;
}

export interface RequestDeliveries extends Command<'RequestDeliveries'> {
  readonly request: Extract<
    { [Event in WebhookEvent as Event['type']]: Pick<Event, 'type' | 'data'> }[WebhookEvent['type']],
    {
      readonly type:
        | 'WebhookTestRequested'
        | 'WebhookRedeliveryRequested'
        | 'WebhookRecoveryRequested'
        | 'WebhookReplayRequested';
    }
  >;
}

export type WebhookCommand =
  | CreateSubscription
  | UpdateSubscription
  | RotateSecret
  | DisableSubscription
  | RequestDeliveries
  | Command<'DeleteSubscription'>;

export type WebhookRefusal =
  | { readonly reason: 'not-found' | 'already-exists' | 'not-active' | 'failed' }
  | { readonly reason: 'rotation-running'; readonly until: string };

type WebhookDecision = Decision<WebhookEvent, WebhookRefusal>;

const update = (
  { now: occurredAt, changes: wanted, status }: UpdateSubscription,
  state: WebhookSubscription,
): WebhookDecision => {
  const isFailed = state.disabled?.reason === 'failing';
  if (status === 'inactive' && isFailed) return refuse({ reason: 'failed' });
  const changes = changedMembers(wanted, state);
  const events: WebhookEvent[] = [];
  if (Object.keys(changes).length > 0) {
    events.push({ type: 'WebhookSubscriptionUpdated', data: { changes }, occurredAt });
  }
  if (status === 'inactive' && state.status === 'active') {
    events.push({ type: 'WebhookSubscriptionPaused', data: {}, occurredAt });
  }
  if (status === 'active' && state.status !== 'active') {
    events.push({ type: 'WebhookSubscriptionEnabled', data: {}, occurredAt });
  }
  return accept(...events);
};

const rotate = (
  { now: occurredAt, secretId, overlapUntil, force }: RotateSecret,
  { secretId: previousSecretId, previousSecret }: WebhookSubscription,
): WebhookDecision => {
  if (!force && previousSecret !== undefined && previousSecret.until > occurredAt) {
    return refuse({ reason: 'rotation-running', until: previousSecret.until });
  }
  const data = { secretId, previousSecretId, overlapUntil };
  return accept({ type: 'WebhookSecretRotated', data, occurredAt });
};

/** A pause does not protect an endpoint that is gone or failing from being disabled. */
const disable = (
  { now: occurredAt, reason, message, attemptAt }: DisableSubscription,
  { status, updatedAt }: WebhookSubscription,
): WebhookDecision => {
  if (status === 'disabled' || updatedAt > attemptAt) return accept();
  return accept({ type: 'WebhookSubscriptionDisabled', data: { reason, message }, occurredAt });
};

const decide = (command: WebhookCommand, state: WebhookSubscriptionState): WebhookDecision => {
  const occurredAt = command.now;
  if (command.type === 'CreateSubscription') {
    if (state.status !== 'none') return refuse({ reason: 'already-exists' });
    return accept({ type: 'WebhookSubscriptionCreated', data: command.subscription, occurredAt });
  }
  if (state.status === 'none' || state.status === 'deleted') return refuse({ reason: 'not-found' });
  switch (command.type) {
    case 'UpdateSubscription':
      return update(command, state);
    case 'RotateSecret':
      return rotate(command, state);
    case 'DisableSubscription':
      return disable(command, state);
    case 'RequestDeliveries':
      if (state.status !== 'active') return refuse({ reason: 'not-active' });
      return accept({ ...command.request, occurredAt });
    case 'DeleteSubscription':
      return accept({ type: 'WebhookSubscriptionDeleted', data: {}, occurredAt });
    default:
      return command satisfies never;
  }
};

export const webhookSubscriptionFold = {
  category: WEBHOOK_SUBSCRIPTION,
  stream: webhookSubscriptionStream,
  events: webhookEvents,
  initialState,
  evolve,
};
export const webhookSubscriptionAggregate = { ...webhookSubscriptionFold, decide };
