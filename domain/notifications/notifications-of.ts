import { allEvents } from '../all-events.ts';
import {
  notificationRules,
  notifiedOnlyWith,
  shownResources,
  type KindAndChanges,
} from '../all-notifications.ts';
import { auditedEvent } from '../history/audited-event.ts';
import { ACCESS_CHANGED, notificationKinds } from './kinds.ts';
import type { Notification } from './notification.ts';

/** In the current schema version. */
export interface NotifiedEvent {
  /** Its name. */
  readonly stream: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** In the stream, from 0. */
  readonly revision: number;
}

/** One type has one schema, by which the caller has checked the data. */
type Rule = (data: unknown) => KindAndChanges | undefined;
const rules = new Map(Object.entries(notificationRules) as unknown as readonly (readonly [string, Rule])[]);

/** False: the event makes no notification, in any version. */
export const isNotified = ({ type, data }: Pick<NotifiedEvent, 'type' | 'data'>): boolean =>
  rules.has(type) && (type !== notifiedOnlyWith.type || Object.hasOwn(data, notifiedOnlyWith.member));

export const notifiedTypes: readonly string[] = [...rules.keys()];

export const notifiedCategories: readonly string[] = [
  ...new Set(
    allEvents.flatMap(({ category, events }) =>
      Object.keys(events).some((type) => rules.has(type)) ? [category] : [],
    ),
  ),
];

/** Deterministic, and a function of the event alone. In the order of `idx`. */
export const notificationsOf = (event: NotifiedEvent): readonly Notification[] => {
  const rule = rules.get(event.type);
  const made = rule?.(event.data);
  if (made === undefined) return [];
  const { kind, changed } = made;
  return [{ kind, changed, revision: event.revision + 1, ...resourceOf(kind, event) }];
};

type Resource = Pick<Notification, 'resourceType' | 'resourceId' | 'path'>;

const resourceOf = (kind: KindAndChanges['kind'], event: NotifiedEvent): Resource => {
  if (kind === ACCESS_CHANGED) return credentialOf(event);
  const { category, id } = placeOf(event.stream);
  const shown = shownResources.get(category);
  if (shown === undefined) throw new Error(`no resource of ${category} is shown`);
  const resourceId = shown.shownId(id, event.data);
  const { resourceType } = notificationKinds[kind];
  return { resourceType, resourceId, path: shown.path?.(resourceId, event.data) };
};

/** The key, session, grant or user, or the account; named as in the audit log. */
const credentialOf = ({ stream, type, data }: NotifiedEvent): Resource => {
  const place = placeOf(stream);
  const { resourceType, part } = auditedEvent({ ...place, type, data }) ?? { resourceType: 'ACCOUNT' };
  return { resourceType, resourceId: part ?? String(place.customerId), path: undefined };
};

/** @returns undefined if the event itself does not say it: see `advertisersOfStreams` */
export const advertiserOfEvent = ({ stream, type, data }: NotifiedEvent): number | undefined =>
  auditedEvent({ ...placeOf(stream), type, data })?.advertiserId;

const placeOf = (stream: string) => {
  const [category = '', customerId = '', ...id] = stream.split('-');
  return { category, customerId: Number(customerId), id: id.join('-') };
};
