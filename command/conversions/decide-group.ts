import { setImmediate as nextTurn } from 'node:timers/promises';
import { refusalOf, type SourceFacts } from '../../domain/conversions/admit-call.ts';
import type { FreshFingerprints } from '../../domain/conversions/decide-batch.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { WaitingCall } from './call-queue.ts';
import { createFreshSet, type FreshSet } from './fingerprint-table.ts';
import { decideCall, derivedResult, testResult, type DecidedCall, type LogCall } from './log-call.ts';
import { findOwnChunks, type OwnChunks } from './own-chunks.ts';
import type { Segments } from './segments.ts';
import type { SourceIndex } from './source-index.ts';

/** Decided, and to be appended. */
export interface Decided extends DecidedCall {
  readonly waiting: WaitingCall;
}

export interface DecidedGroup {
  readonly decided: readonly Decided[];
  /** Not decided yet: the append has enough, or they need to know what became of it. */
  readonly left: readonly WaitingCall[];
}

export interface GroupContext {
  readonly store: Pick<EventStore, 'readStream' | 'ensureMarked'>;
  readonly segments: Segments;
  readonly customerId: number;
  readonly sourceId: string;
  readonly stream: string;
  readonly chunkBytesMax?: number | undefined;
}

/** Of one append: beyond these no further call joins it. The port takes 1,000 events. */
const APPEND = { eventsMax: 500, bytesMax: 8 * 1024 * 1024 } as const;
/** After a call of this many items the event loop gets a turn. */
const LARGE_CALL = 2_000;

/**
 * Decides calls in order, each seeing those before it, until one append has enough of them. Those that only the
 * stream decides are answered at once.
 */
export const decideGroup = async (
  context: GroupContext,
  index: SourceIndex,
  facts: SourceFacts | undefined,
  group: readonly WaitingCall[],
): Promise<DecidedGroup> => {
  const fresh = createFreshSet(group.reduce((sum, { call }) => sum + call.events.length, 0));
  const decided: Decided[] = [];
  let { health } = index;
  let bytes = 0;
  let events = 0;
  for (const [at, waiting] of group.entries()) {
    const { call, validate } = waiting;
    const { commandId } = call.context;
    // Its own first run is in this append: what that one has done is known after it.
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

/** Pieces of the call that an earlier run has left in the stream. */
const findOwn = async (
  context: GroupContext,
  index: SourceIndex,
  { context: { commandId }, mode, nowMs }: LogCall,
): Promise<OwnChunks | undefined> => {
  const { revision } = index;
  if (mode !== 'log' || revision === 'no-stream' || !index.hasCommand(commandId)) return undefined;
  return await findOwnChunks(context, commandId, revision, nowMs);
};

/** Answers a call that has nothing to append: it is done already, refused, or a test. */
const answered = async (
  { store, customerId, stream }: GroupContext,
  { call, validate, resolve }: WaitingCall,
  facts: SourceFacts | undefined,
  own: OwnChunks | undefined,
  health: SourceIndex['health'],
): Promise<boolean> => {
  // What was begun is finished, whatever has become of the source since.
  const refusal = own === undefined ? refusalOf(facts, call.testEventCode) : undefined;
  if (own?.isComplete === true) {
    await store.ensureMarked(customerId, own.position, stream);
    // The same request's own append may have arrived although its answer did not.
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

/** Sees what was decided before, and is seen by nobody. */
const previewOf = (fresh: FreshSet, itemsMax: number): FreshFingerprints => {
  const own = createFreshSet(itemsMax);
  return {
    has: (words, at, spot) => fresh.has(words, at, spot) || own.has(words, at, spot),
    add: (words, at, spot) => !fresh.has(words, at, spot) && own.add(words, at, spot),
  };
};
