import { shownCampaignId } from '../../domain/campaigns/resource.ts';
import type { AuditLog } from '../../domain/history/audit-log-resource.ts';
import { failedWork } from './failed-work.ts';
import type { AttemptRow, EventRow } from './audit-entries.ts';
import { whoOf } from './event-resource.ts';
import type { RecordedChange } from './stream-history.ts';

export interface Subject {
  readonly id: string | undefined;
  readonly name: string | undefined;
}

/** E.g. `Advertiser frequency caps replaced` for `AdvertiserFrequencyCapsReplaced`. */
const inWords = (type: string): string =>
  type.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/^api key/i, 'API key');

/** Every change sets them, so descriptions leave them out. */
const INCIDENTAL = new Set(['updatedAt', 'revision']);
const NAMED_MAX = 5;

/** E.g. `Advertiser updated: name, labels`. */
const describe = (type: string, { changes }: Pick<RecordedChange, 'changes'>): string => {
  const members = new Set(changes.map(({ path }) => path.split('/')[1] ?? ''));
  const named = [...members].filter((member) => !INCIDENTAL.has(member));
  const isWhole = changes.every(({ before }) => before === undefined);
  if (named.length === 0 || isWhole) return inWords(type);
  const more = named.length > NAMED_MAX ? ', ...' : '';
  return `${inWords(type)}: ${named.slice(0, NAMED_MAX).join(', ')}${more}`;
};

const ofOne = ({ id, name }: Subject): Pick<AuditLog, 'resourceId' | 'resourceName'> => ({
  ...(id === undefined ? {} : { resourceId: id }),
  ...(name === undefined ? {} : { resourceName: name }),
});

const ofAdvertiser = (advertiserId: number | null): Pick<AuditLog, 'advertiserId'> =>
  advertiserId === null ? {} : { advertiserId };

const ofCampaigns = (ids: readonly string[]): Pick<AuditLog, 'campaignIds'> =>
  ids.length === 0 ? {} : { campaignIds: [...ids] };

export const entryOfEvent = (
  row: EventRow,
  change: RecordedChange | undefined,
  subject: Subject,
): AuditLog => ({
  id: row.id,
  timestamp: row.at,
  createdAt: row.at,
  action: row.type,
  resourceType: row.resourceType,
  ...ofOne(subject),
  ...ofAdvertiser(row.advertiserId),
  ...ofCampaigns((row.campaignIds ?? []).map(shownCampaignId)),
  ...whoOf(row.actor, row.userId),
  outcome: failedWork.has(row.type) ? 'failed' : 'success',
  parameters: {
    requestId: row.requestId,
    correlationId: row.correlationId,
    causationId: row.causationId,
    revision: row.revision + 1,
  },
  changes: [...(change?.changes ?? [])],
  description: change === undefined ? inWords(row.type) : describe(row.type, change),
});

export const entryOfAttempt = (row: AttemptRow): AuditLog => ({
  id: row.id,
  timestamp: row.at,
  createdAt: row.at,
  action: row.operation,
  ...(row.resourceType === null ? {} : { resourceType: row.resourceType }),
  ...(row.resourceId === null ? {} : { resourceId: row.resourceId }),
  ...ofAdvertiser(row.advertiserId),
  ...ofCampaigns(row.campaignId === null ? [] : [row.campaignId]),
  ...whoOf(row.actor, row.userId),
  outcome: row.outcome,
  parameters: {
    requestId: row.requestId,
    status: row.status,
    code: row.code,
    ...(row.field === null ? {} : { field: row.field }),
  },
  changes: [],
  description: `${row.operation} was ${row.outcome === 'denied' ? 'denied' : 'refused'}: ${row.status} ${row.code}`,
});
