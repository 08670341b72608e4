import type { EventType } from '../event-sources/event-type.ts';

/** What decides whether a source takes a call, as its stream and its advertiser's say now. */
export interface SourceFacts {
  readonly advertiserId: number;
  readonly isArchived: boolean;
  readonly isAdvertiserArchived: boolean;
  /** Undefined: all. */
  readonly allowedTypes?: readonly EventType[] | undefined;
  readonly testEventCode?: string | undefined;
}

export type CallRefusal =
  | { readonly reason: 'no-source' }
  | { readonly reason: 'source-archived' }
  | { readonly reason: 'advertiser-archived' }
  | { readonly reason: 'other-test-code' };

/** Why a source does not take a call; undefined when it does (decisions.md E14). */
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
