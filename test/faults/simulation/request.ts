import { createHash } from 'node:crypto';
import { createAdvertiser, updateAdvertiser } from '../../../command/advertisers/commands.ts';
import type { AdvertiserCommand } from '../../../domain/advertisers/advertiser.ts';
import type { Operation } from './operation.ts';
import { POISON } from './projection-statements.ts';

export const CUSTOMER_ID = 7;
/** Advertisers that exist before a schedule begins. */
export const FIRST_TARGET_ID = 1_001;
export const FIRST_NEW_ID = 2_001;

/** One HTTP write as the kernel passes it to its route. */
export interface SimulatedRequest {
  readonly key: string;
  readonly kind: Operation['kind'];
  /** An existing advertiser. */
  readonly advertiserId: number;
  /** Unique for every request, so that each update changes something. */
  readonly value: string;
  readonly fingerprint: Buffer;
}

export const requestOf = ({ kind, target }: Operation, index: number, value: string): SimulatedRequest => ({
  key: `key-of-operation-${index}`,
  kind,
  advertiserId: FIRST_TARGET_ID + target,
  value,
  fingerprint: createHash('sha256').update(`${kind} ${target} ${value}`).digest(),
});

/** The members of an advertiser that a request sets. */
export const changesOf = ({ kind, value }: SimulatedRequest) => {
  switch (kind) {
    case 'rename':
    case 'create':
      return { name: value };
    case 'describe':
      return { description: value };
    case 'poison':
      return { description: `${POISON} ${value}` };
    case 'relabel':
      return { labels: { value: [value] } };
    case 'archive':
    case 'restore':
      return {};
    default:
      return kind satisfies never;
  }
};

export const commandOf = (
  request: SimulatedRequest,
  origin: { readonly commandId: string; readonly now: string },
  advertiserId: number,
): AdvertiserCommand => {
  const { kind, value } = request;
  if (kind === 'create') {
    return createAdvertiser({ name: value }, { advertiserId, customerId: CUSTOMER_ID }, origin);
  }
  if (kind === 'archive') return { type: 'ArchiveAdvertiser', now: origin.now };
  if (kind === 'restore') return { type: 'RestoreAdvertiser', now: origin.now };
  return updateAdvertiser(changesOf(request), origin);
};
