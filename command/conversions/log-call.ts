import type { CallRefusal, SourceFacts } from '../../domain/conversions/admit-call.ts';
import { chunkItems, type CallFacts, type SizedEvent } from '../../domain/conversions/chunk-items.ts';
import {
  decideBatch,
  healthAfter,
  type BatchResult,
  type FreshFingerprints,
} from '../../domain/conversions/decide-batch.ts';
import type { FingerprintInto } from '../../domain/conversions/fingerprint.ts';
import { validateItems, type ValidatedItems } from '../../domain/conversions/validate-items.ts';
import type { EventType } from '../../domain/event-sources/event-type.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { readRfc3339 } from '../../domain/rfc3339.ts';
import type { OwnChunks } from './own-chunks.ts';
import { tableHashes } from './table-hash.ts';
import type { LoggedCall } from './stream-fold.ts';

export interface LogCall {
  readonly context: CommandContext;
  readonly events: readonly unknown[];
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** `preview`: answers without logging. `test`: accepts valid items, without logging or comparing. */
  readonly mode: 'log' | 'preview' | 'test';
  readonly testEventCode?: string | undefined;
  /** Asked immediately before the append; true cancels the call. */
  readonly isAbandoned: () => boolean;
  /** True when an earlier run of the command may have left events (`KeyedCommand`). */
  readonly hasRunBefore: () => Promise<boolean>;
}

export type CallOutcome =
  | { readonly outcome: 'done'; readonly result: BatchResult }
  | { readonly outcome: 'refused'; readonly refusal: CallRefusal };

/** Validates a call's items. The result is cached until the source's allowed types change. */
export const createValidation = (
  { events, nowMs }: Pick<LogCall, 'events' | 'nowMs'>,
  fingerprintInto: FingerprintInto,
): ((allowedTypes: readonly EventType[] | undefined, atMs?: number) => ValidatedItems) => {
  let kept: { readonly key: string; readonly validated: ValidatedItems } | undefined;
  return (allowedTypes, atMs = nowMs) => {
    const key = `${atMs} ${allowedTypes?.join() ?? '*'}`;
    if (kept?.key !== key) {
      const rules = { nowMs: atMs, allowedTypes, fingerprintInto, readTime: readRfc3339 };
      kept = { key, validated: validateItems(events, rules) };
    }
    return kept.validated;
  };
};

export type Validate = ReturnType<typeof createValidation>;

export interface DecidedCall {
  readonly result: BatchResult;
  readonly events: readonly SizedEvent[];
  readonly firstChunk: number;
  readonly logged: LoggedCall;
}

export const derivedResult = (validate: Validate, events: number, own: OwnChunks): BatchResult => {
  const { rejected } = validate(own.first.allowedTypes, Date.parse(own.first.occurredAt));
  const duplicates = events - own.accepted - rejected.length;
  return { accepted: own.accepted, rejected, duplicates, health: own.health };
};

/**
 * @param index `health`: of the last event before this call's, also of calls that are decided but not yet in the stream
 * @param own events of an earlier run: their items are accepted, only the missing ones are decided
 */
export const decideCall = (
  call: LogCall,
  validate: Validate,
  source: SourceFacts,
  index: { readonly known: Parameters<typeof decideBatch>[1]; readonly health: BatchResult['health'] },
  fresh: FreshFingerprints,
  own: OwnChunks | undefined,
  { chunkBytesMax }: { readonly chunkBytesMax?: number | undefined } = {},
): DecidedCall => {
  const allowedTypes = own === undefined ? source.allowedTypes : own.first.allowedTypes;
  const occurredAt = own?.first.occurredAt ?? isoTimestamp(call.nowMs);
  const { items, rejected } = validate(allowedTypes, Date.parse(occurredAt));
  const spots = tableHashes(items.fingerprints, items.sent.length);
  const decision = decideBatch(items, index.known, fresh, spots);
  const accepted = decision.accepted.length + (own?.accepted ?? 0);
  const health = healthAfter(index.health, accepted, rejected.length, call.events.length);
  const facts: CallFacts = {
    advertiserId: source.advertiserId,
    rejected,
    allowedTypes,
    health,
    healthChange: health === index.health ? undefined : { before: index.health, eventSourceId: source.key },
    occurredAt,
  };
  const firstChunk = own?.chunks ?? 0;
  return {
    result: {
      accepted,
      rejected,
      duplicates: call.events.length - accepted - rejected.length,
      health,
    },
    events: chunkItems(items, decision.accepted, facts, firstChunk, chunkBytesMax),
    firstChunk,
    logged: {
      commandId: call.context.commandId,
      fingerprints: items.fingerprints,
      spots,
      accepted: decision.accepted,
      health,
    },
  };
};

export const testResult = (
  { events }: LogCall,
  validate: Validate,
  { allowedTypes }: SourceFacts,
  health: BatchResult['health'],
): BatchResult => {
  const { rejected } = validate(allowedTypes);
  return { accepted: events.length - rejected.length, rejected, duplicates: 0, health };
};
