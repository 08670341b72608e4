import { setImmediate as nextTurn } from 'node:timers/promises';
import { refusalOf, type SourceFacts } from '../../domain/conversions/admit-call.ts';
import type { FreshFingerprints } from '../../domain/conversions/decide-batch.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { WaitingCall } from './call-queue.ts';
import { createFreshSet } from './fingerprint-table.ts';
import { decideCall, derivedResult, testResult, type DecidedCall, type LogCall } from './log-call.ts';
import { findOwnChunks, type OwnChunks } from './own-chunks.ts';
import type { Segments } from './segments.ts';
import type { SourceIndex } from './source-index.ts';

export interface PlannedCall extends DecidedCall {
  readonly waiting: WaitingCall;
}

export interface DecidedGroup {
  readonly decided: readonly PlannedCall[];
  /** Calls for the next append: this one is full, or they need its result. */
  readonly left: readonly WaitingCall[];
}

export interface GroupContext {
  readonly store: Pick<EventStore, 'readStream' | 'ensurePositionRecorded'>;
  readonly segments: Segments;
  readonly customerId: number;
  readonly sourceId: string;
  readonly stream: string;
  readonly chunkBytesMax?: number | undefined;
}

/** Further calls join the next append. The event store accepts 1,000 events per append. */
const APPEND = { eventsMax: 500, bytesMax: 8 * 1024 * 1024 } as const;
/** After a call with this many items the event loop may run other work. */
const LARGE_CALL = 2_000;

/** Each call sees the items of the calls before it. Calls without anything to append are answered at once. */
export const decideGroup = async (
  context: GroupContext,
  index: SourceIndex,
  facts: SourceFacts | undefined,
  group: readonly WaitingCall[],
): Promise<DecidedGroup> => {
  const fresh = createFreshSet(group.reduce((sum, { call }) => sum + call.events.length, 0));
  const decided: PlannedCall[] = [];
  let { health } = index;
  let bytes = 0;
  let events = 0;
  for (const [at, waiting] of group.entries()) {
    const { call, validate } = waiting;
    const { commandId } = call.context;
    // The first run of the same command is in this append; its result is known only afterwards.
    const isRepeated = decided.some(({ logged }) => logged.commandId === commandId);
    if (isRepeated || bytes > APPEND.bytesMax || events > APPEND.eventsMax) {
      return { decided, left: group.slice(at) };
    }
    const own = await findOwn(context, index, call);
    if (!(await answered(context, waiting, facts, own, health)) && facts !== undefined) {
      const isLogged = call.mode === 'log';
      const seen = isLogged ? fresh : previewOf(fresh, call.events.length);
      const decision = decideCall(call, validate, facts, { known: index.known, health }, seen, own, context);
      decided.push({ ...decision, events: isLogged ? decision.events : [], waiting });
      if (isLogged) ({ health } = decision.result);
      events += decision.events.length;
      for (const { bytesMax } of decision.events) bytes += bytesMax;
    }
    if (call.events.length >= LARGE_CALL) await nextTurn();
  }
  return { decided, left: [] };
};

const findOwn = async (
  context: GroupContext,
  index: SourceIndex,
  { context: { commandId }, mode, nowMs }: LogCall,
): Promise<OwnChunks | undefined> => {
  const { revision } = index;
  if (mode !== 'log' || revision === 'no-stream' || !index.hasCommand(commandId)) return undefined;
  return await findOwnChunks(context, commandId, revision, nowMs);
};

const answered = async (
  { store, customerId, stream }: GroupContext,
  { call, validate, resolve }: WaitingCall,
  facts: SourceFacts | undefined,
  own: OwnChunks | undefined,
  health: SourceIndex['health'],
): Promise<boolean> => {
  // A partly logged call is completed, even if the source was archived since.
  const refusal = own === undefined ? refusalOf(facts, call.testEventCode) : undefined;
  if (own?.isComplete === true) {
    await store.ensurePositionRecorded(customerId, own.position, stream);
    // The append of this very request may have succeeded without an answer.
    call.context.onEvents?.(own.requestId === call.context.requestId ? 'this-run' : 'earlier-run');
    resolve({ outcome: 'done', result: derivedResult(validate, call.events.length, own) });
  } else if (refusal !== undefined || facts === undefined) {
    resolve({ outcome: 'refused', refusal: refusal ?? { reason: 'no-source' } });
  } else if (call.mode === 'test') {
    resolve({ outcome: 'done', result: testResult(call, validate, facts, health) });
  } else {
    return false;
  }
  return true;
};

/** A preview sees the calls before it, but later calls do not see its items. */
const previewOf = (fresh: FreshFingerprints, itemsMax: number): FreshFingerprints => {
  const own = createFreshSet(itemsMax);
  return {
    has: (words, at, spot) => fresh.has(words, at, spot) || own.has(words, at, spot),
    add: (words, at, spot) => !fresh.has(words, at, spot) && own.add(words, at, spot),
  };
};
