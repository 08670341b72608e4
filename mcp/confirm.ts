import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { isConfirmationUid, type Confirmations } from '../shared/confirmations/confirmations.ts';
import { derivedId } from '../shared/aggregate/ids.ts';
import { isoTimestamp } from '../shared/async/clock.ts';
import { ApiError, invalid } from '../shared/http/errors.ts';
import { fingerprintOf } from '../shared/idempotency/request-fingerprint.ts';
import type { ToolRun, ToolResult } from './tool.ts';

export const confirmArguments = {
  confirm: z
    .boolean()
    .optional()
    .meta({ description: 'true, with confirmationUid, once the person you act for has agreed.' }),
  confirmationUid: z.string().min(1).max(100).optional().meta({
    description:
      'Id of the pending confirmation that the first call returned: valid once, for 15 minutes, with the same arguments.',
  }),
};

export const PENDING = 'pending_confirmation';
export const DECLINED = 'declined';

export const Confirmation = z.object({
  confirmationUid: z.string(),
  expiresAt: z.string(),
  summary: z.string().meta({ description: 'What the call would do. Show it to the person you act for.' }),
  tool: z.string(),
  revision: z.int().optional().meta({ description: 'Revision of the object that the summary describes.' }),
});
export type Confirmation = z.infer<typeof Confirmation>;

/** What a call would do, as read from the service: not what the caller says. */
export interface Described {
  readonly summary: string;
  readonly revision?: number;
}

interface ConfirmedCall {
  readonly tool: string;
  readonly idempotencyKey: string;
  readonly call: ToolRun;
  readonly describe: () => Promise<Described>;
  /** The summary shows what is stored, which may change before the person agrees: they agree to what they saw. */
  readonly showsState: boolean;
}

/** Nothing is done before a second call with the same arguments, which names the confirmation of the first. */
export type Confirm = (asked: ConfirmedCall) => Promise<ToolResult | undefined>;

/** @returns undefined if the call is confirmed @throws ApiError VALIDATION_ERROR, CONFIRMATION_EXPIRED, CONFLICT */
export const createConfirm =
  (confirmations: Pick<Confirmations, 'offer' | 'use' | 'isUsedBy'>): Confirm =>
  async ({ tool, idempotencyKey, call, describe, showsState }) => {
    const { confirm, confirmationUid: sent, idempotencyKey: _key, ...body } = call.given;
    const { customerId } = call.caller.principal;
    const fingerprintFor = (summary: string): Buffer =>
      fingerprintOf({ method: 'tool', path: tool, pathValues: showsState ? { summary } : {}, body });
    const uid = call.confirmationUid ?? (sent as string | undefined);
    if (uid === undefined) {
      if (confirm === true) throw withoutUid();
      const { summary, revision } = await describe();
      const confirmationUid = randomUUID();
      const fingerprint = fingerprintFor(summary);
      const expiresMs = await confirmations.offer({ customerId, uid: confirmationUid, fingerprint });
      const confirmation: Confirmation = {
        confirmationUid,
        expiresAt: isoTimestamp(expiresMs),
        summary,
        tool,
        ...(revision !== undefined && { revision }),
      };
      return { action: PENDING, confirmation };
    }
    if (call.confirmationUid === undefined && confirm !== true) throw invalid(MUST_CONFIRM, 'confirm');
    // Derived from the key, so that a repeat of the call uses the confirmation again.
    const commandId = derivedId(CALLS, `${customerId} ${tool} ${idempotencyKey}`);
    if (!isConfirmationUid(uid)) throw expired();
    // What a call did may have changed what describes it: a repeat is answered by its idempotency key.
    if (showsState && (await confirmations.isUsedBy({ customerId, uid }, commandId))) return undefined;
    const fingerprint = fingerprintFor(showsState ? (await describe()).summary : '');
    const used = await confirmations.use({ customerId, uid, fingerprint }, commandId);
    if (used === 'expired') throw expired();
    if (used === 'other') throw ofOtherCall();
    return undefined;
  };

/** Namespace of the ids of confirmed calls. */
const CALLS = '5a5c1c8e-7d0a-5d0e-9c57-1d7b5b3c2f64';

const MUST_CONFIRM = 'confirm must be true with a confirmationUid. Ask the person you act for first.';

const withoutUid = (): ApiError =>
  invalid(
    'confirm needs the confirmationUid of a pending confirmation. Leave confirm out to get one.',
    'confirmationUid',
  );

const expired = (): ApiError =>
  new ApiError({
    code: 'CONFIRMATION_EXPIRED',
    message:
      'The confirmation does not exist, was used, or is older than 15 minutes. Call without confirm and confirmationUid for another.',
    field: 'confirmationUid',
  });

const ofOtherCall = (): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message:
      'The confirmation belongs to a call with other arguments, or what it showed has changed since then. Call without confirm and confirmationUid to see it as it is now.',
    field: 'confirmationUid',
  });
