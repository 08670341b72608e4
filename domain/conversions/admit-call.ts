import type { EventType } from '../event-sources/event-type.ts';

export interface SourceFacts {
  /** The buyer's. */
  readonly key: string;
  readonly advertiserId: number;
  readonly isArchived: boolean;
  readonly isAdvertiserArchived: boolean;
  readonly allowedTypes?: readonly EventType[] | undefined;
  readonly testEventCode?: string | undefined;
}

export type CallRefusal =
  | { readonly reason: 'no-source' }
  | { readonly reason: 'source-archived' }
  | { readonly reason: 'advertiser-archived' }
  | { readonly reason: 'other-test-code' };

/** @returns undefined if the source accepts the call */
export const refusalOf = (
  source: SourceFacts | undefined,
  testEventCode: string | undefined,
): CallRefusal | undefined => {
  if (source === undefined) return { reason: 'no-source' };
  if (source.isAdvertiserArchived) return { reason: 'advertiser-archived' };
  if (source.isArchived) return { reason: 'source-archived' };
  const isOther =
    testEventCode !== undefined &&
    source.testEventCode !== undefined &&
    source.testEventCode !== testEventCode;
  return isOther ? { reason: 'other-test-code' } : undefined;
};
