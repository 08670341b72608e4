import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { BatchResult } from '../../domain/conversions/decide-batch.ts';
import { LogConversionsBody } from '../../domain/conversions/input.ts';
import { BatchResultResource } from '../../domain/conversions/resource.ts';
import { UnreadableItem } from '../../domain/conversions/validate-items.ts';
import { EVENT_SOURCE } from '../../domain/event-sources/event-source.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import type { Principal } from '../../shared/http/principal.ts';
import type { Confirmation, Confirmations } from '../../shared/confirmations/confirmations.ts';
import { runConfirmed } from '../../shared/confirmations/use-confirmation.ts';
import { route, type Reply, type RequestContext, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import { derivedId, resourceIdOf } from '../../shared/aggregate/ids.ts';
import { fingerprintOf } from '../../shared/idempotency/request-fingerprint.ts';
import { RefusedItem } from '../../shared/json/refused-item.ts';
import { callRefused, severalSources } from './call-refusals.ts';
import type { Ledgers } from './ledgers.ts';
import type { LogCall } from './log-call.ts';

export interface ConversionWrites {
  readonly ledgers: Ledgers;
  readonly confirmations: Confirmations;
  readonly clock: Clock;
  /** Reads the account's own writes. @throws ApiError SERVICE_UNAVAILABLE when the read model lags too long */
  readonly sourcesOf: (principal: Principal, key: string) => Promise<readonly SourceOfKey[]>;
}

export interface SourceOfKey {
  readonly sourceId: string;
  readonly status: 'ACTIVE' | 'ARCHIVED';
}

const path = '/api/v2/buyer/event-sources/{key}/events';
/** 10,000 events of about 1.5 kB. */
const BODY_BYTES_MAX = 16 * 1024 * 1024;

interface Input {
  readonly key: string;
  readonly body: LogConversionsBody;
  readonly request: RequestContext;
}

export const conversionWriteRoutes = (writes: ConversionWrites): readonly Route[] => [
  route({
    method: 'post',
    path,
    operationId: 'logConversions',
    description:
      'An event counts once for its `eventId`, type and source within 90 days. An invalid event is ' +
      'listed in `rejected` with its index, and the others are stored. With `confirm: false` ' +
      'nothing is stored, and the headers have a `Confirmation-Uid` for the same events with ' +
      '`confirm: true`.',
    summary: 'Log 1 to 10,000 conversion events; each counts once, however often it is sent within 90 days',
    tag: 'Event Sources',
    access: 'exchange:write',
    params: z.object({ key: boundedText(1, 256).meta({ description: 'The event_source_id.' }) }),
    body: LogConversionsBody,
    // A plain hash of the body would allow guessing a `userMatch` by trial.
    bodyIsSecret: true,
    bodyBytesMax: BODY_BYTES_MAX,
    itemsMember: 'events',
    alsoRefuses: ['NOT_FOUND', 'CONFIRMATION_EXPIRED'],
    responses: {
      200: {
        description: 'The result for the events',
        data: BatchResultResource,
        headers: ['Confirmation-Uid', 'Confirmation-Expires'],
      },
    },
    handle: async ({ params: { key }, body, request }) => logConversions(writes, { key, body, request }),
  }),
];

const logConversions = async (writes: ConversionWrites, input: Input): Promise<Reply> => {
  const { body, request } = input;
  const sourceId = await sourceIdOf(writes, input);
  const result = await submitConfirmed(writes, sourceId, input);
  const { accepted, rejected, duplicates, health } = result;
  const data = { accepted, rejected, duplicates, health };
  if (body.confirm !== false) return { status: 200, data };
  const offered = request.isRepeatable ? derivedId(request.commandId, 'confirmation') : randomUUID();
  const expiresMs = await writes.confirmations.offer(confirmationOf(input, offered));
  const headers = { 'Confirmation-Uid': offered, 'Confirmation-Expires': isoTimestamp(expiresMs) };
  return { status: 200, data, headers };
};

/** The id is derived from advertiser and key. Without an advertiser the read model is searched. */
const sourceIdOf = async (
  { sourcesOf }: ConversionWrites,
  { key, body: { advertiserId }, request }: Input,
): Promise<string> => {
  const { principal } = request;
  if (advertiserId !== undefined) return resourceIdOf(EVENT_SOURCE, principal.customerId, advertiserId, key);
  const sources = await sourcesOf(principal, key);
  const active = sources.filter(({ status }) => status === 'ACTIVE');
  const [source, ...others] = active.length > 0 ? active : sources;
  if (source === undefined) throw callRefused({ reason: 'no-source' });
  if (others.length > 0) throw severalSources();
  return source.sourceId;
};

const submit = async (
  { ledgers, clock }: ConversionWrites,
  sourceId: string,
  { body: { events, testEventCode, confirm }, request }: Input,
): Promise<BatchResult> => {
  const { commandId, requestId, onEvents } = request;
  const { customerId, actor } = request.principal;
  const call: LogCall = {
    context: { commandId, customerId, actor, requestId, onEvents },
    events: events.map((event) =>
      event instanceof RefusedItem ? new UnreadableItem(event.fault, event.member) : event,
    ),
    bytes: request.bodyBytes,
    nowMs: clock.now(),
    mode: testEventCode !== undefined ? 'test' : confirm === false ? 'preview' : 'log',
    testEventCode,
    isAbandoned: request.isAbandoned,
    hasRunBefore: request.hasRunBefore,
  };
  const outcome = await ledgers.of(customerId, sourceId).submit(call);
  if (outcome.outcome === 'refused') throw callRefused(outcome.refusal);
  return outcome.result;
};

const submitConfirmed = async (
  writes: ConversionWrites,
  sourceId: string,
  input: Input,
): Promise<BatchResult> => {
  const { body, request } = input;
  const run = (): Promise<BatchResult> => submit(writes, sourceId, input);
  if (body.confirmationUid === undefined) return run();
  const confirmation = confirmationOf(input, body.confirmationUid);
  return runConfirmed(writes.confirmations, confirmation, request, 'with confirm: false', run);
};

/** The fingerprint covers the call without its confirmation members. */
const confirmationOf = ({ key, body, request }: Input, uid: string): Confirmation => {
  const { confirm: _confirm, confirmationUid: _uid, ...call } = body;
  return {
    customerId: request.principal.customerId,
    uid,
    fingerprint: fingerprintOf({ method: 'post', path, pathValues: { key }, body: call }),
  };
};
