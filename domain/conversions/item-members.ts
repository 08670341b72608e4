import type { MoreMembers, UserMatch } from './events.ts';

/** Each check returns the reason for the client, or undefined. */

export type Item = Readonly<Record<string, unknown>>;

export const isItem = (value: unknown): value is Item =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const HASHED = /^[0-9a-f]{64}$/i;
const OPAQUE = /^[A-Za-z0-9._~:+/=-]{1,512}$/;
const UIDS_MAX = 10;
const CONTENT_IDS_MAX = 100;
const URL_MAX = 2_048;

/** AdCP 3.0, enum action-source. */
const actionSources = new Set([
  'website',
  'app',
  'offline',
  'phone_call',
  'chat',
  'email',
  'in_store',
  'system_generated',
  'other',
]);

const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

const codePointsIn = (text: string): number => {
  let count = 0;
  for (const _point of text) count += 1;
  return count;
};

/** Checks a storable text of 1 to `max` code points. @returns the problem, without the member's name */
export const textProblem = (value: unknown, max: number): string | undefined => {
  if (typeof value !== 'string') return 'must be a string';
  const tooLong = value.length > 2 * max || (value.length > max && codePointsIn(value) > max);
  if (value.length === 0 || tooLong) return `must have 1 to ${max} characters`;
  return isStorable(value) ? undefined : 'must not hold U+0000 or half of a surrogate pair';
};

const eventSourceUrlProblem = (value: unknown): string | undefined => {
  const problem = textProblem(value, URL_MAX);
  if (problem !== undefined) return problem;
  const isUrl = /^https?:\/\//i.test(value as string) && URL.canParse(value as string);
  return isUrl ? undefined : 'must be an http or https URL';
};

const contentIdsProblem = (value: unknown): string | undefined => {
  if (!Array.isArray(value) || value.length > CONTENT_IDS_MAX) {
    return `must be an array of at most ${CONTENT_IDS_MAX} strings`;
  }
  for (const id of value as readonly unknown[]) {
    const problem = textProblem(id, 256);
    if (problem !== undefined) return `each ${problem}`;
  }
  return undefined;
};

const hashedProblem = (value: unknown): string | undefined =>
  typeof value === 'string' && HASHED.test(value)
    ? undefined
    : 'must be a SHA-256 hash in 64 hexadecimal digits';

const opaqueProblem = (value: unknown): string | undefined =>
  typeof value === 'string' && OPAQUE.test(value)
    ? undefined
    : 'must be an opaque id of 1 to 512 letters, digits or "._~:+/=-"';

const uidsProblem = (value: unknown): string | undefined => {
  if (!Array.isArray(value) || value.length > UIDS_MAX) return `must be an array of at most ${UIDS_MAX} ids`;
  const areOpaque = (value as readonly unknown[]).every(
    (uid) =>
      isItem(uid) && opaqueProblem(uid['type']) === undefined && opaqueProblem(uid['value']) === undefined,
  );
  return areOpaque ? undefined : 'each must be an object of a type and an opaque value';
};

const rawProblem = (): string =>
  'must not be sent as it is. Send its SHA-256 hash as hashedEmail or hashedPhone';

const userMatchChecks: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  hashedEmail: hashedProblem,
  hashedPhone: hashedProblem,
  uids: uidsProblem,
  clickId: opaqueProblem,
  clickIdType: opaqueProblem,
  email: rawProblem,
  phone: rawProblem,
};

const userMatchProblem = (value: unknown): string | undefined => {
  if (!isItem(value)) return 'must be an object';
  for (const [member, check] of Object.entries(userMatchChecks)) {
    const problem = value[member] === undefined ? undefined : check(value[member]);
    if (problem !== undefined) return `${member} ${problem}`;
  }
  return undefined;
};

const moreChecks: Readonly<Record<keyof MoreMembers, (value: unknown) => string | undefined>> = {
  userMatch: userMatchProblem,
  actionSource: (value) =>
    typeof value === 'string' && actionSources.has(value)
      ? undefined
      : `must be one of ${[...actionSources].join(', ')}`,
  eventSourceUrl: eventSourceUrlProblem,
  orderId: (value) => textProblem(value, 256),
  contentIds: contentIdsProblem,
};

const memberNames: ReadonlySet<unknown> = new Set([
  'eventId',
  'eventTime',
  'eventType',
  'value',
  'currency',
  'customEventName',
  ...Object.keys(moreChecks),
]);

export const isMemberName = (name: unknown): boolean => memberNames.has(name);

export const hasMore = ({ userMatch, actionSource, eventSourceUrl, orderId, contentIds }: Item): boolean =>
  userMatch !== undefined ||
  actionSource !== undefined ||
  eventSourceUrl !== undefined ||
  orderId !== undefined ||
  contentIds !== undefined;

const checks = Object.entries(moreChecks);

export const moreProblem = (item: Item): string | undefined => {
  for (const [member, check] of checks) {
    const problem = item[member] === undefined ? undefined : check(item[member]);
    if (problem !== undefined) return `${member} ${problem}`;
  }
  return undefined;
};

/** The item has passed `moreProblem`. */
export const moreOf = (item: Item): MoreMembers => {
  const { userMatch, actionSource, eventSourceUrl, orderId, contentIds } = item as MoreMembers;
  return {
    ...(userMatch === undefined ? {} : { userMatch: knownMatch(userMatch) }),
    ...(actionSource === undefined ? {} : { actionSource }),
    ...(eventSourceUrl === undefined ? {} : { eventSourceUrl }),
    ...(orderId === undefined ? {} : { orderId }),
    ...(contentIds === undefined ? {} : { contentIds }),
  };
};

const knownMatch = ({ hashedEmail, hashedPhone, uids, clickId, clickIdType }: UserMatch): UserMatch => ({
  ...(hashedEmail === undefined ? {} : { hashedEmail: hashedEmail.toLowerCase() }),
  ...(hashedPhone === undefined ? {} : { hashedPhone: hashedPhone.toLowerCase() }),
  ...(uids === undefined ? {} : { uids: uids.map(({ type, value }) => ({ type, value })) }),
  ...(clickId === undefined ? {} : { clickId }),
  ...(clickIdType === undefined ? {} : { clickIdType }),
});
