import { scopesOfRole, type Role, type Scope } from '../../domain/accounts/access.ts';
import {
  apiKeyOf,
  generateApiKey,
  keyIdOfCommand,
  type ApiKey,
  type Sealer,
} from '../../shared/secrets/api-key.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { AlreadyDoneError, type ApiError } from '../../shared/http/errors.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { accountRefused, loadAccount, runOnAccount, type AccountWrites } from './handler.ts';
import {
  announceKeyRow,
  deleteKeyRow,
  insertKeyRow,
  readSealedSecret,
  revokedAmong,
  type NewKeyRow,
} from './key-rows.ts';

export interface KeyRequest {
  readonly name: string;
  readonly user: { readonly id: string; readonly role: Role };
  readonly scopes?: readonly Scope[] | undefined;
  readonly expiresAt?: string | undefined;
  /** Set when the request can be repeated: its repeat must return the same key. */
  readonly sealer?: Sealer | undefined;
}

export interface IssuedApiKey {
  readonly id: string;
  readonly name: string;
  readonly maskedKey: string;
  readonly status: 'ACTIVE';
  readonly scopes: readonly Scope[];
  readonly expiresAt?: string;
  readonly createdAt: string;
  readonly key: string;
}

/**
 * The row comes first, because the event lacks the hash. It becomes live after the event; after a crash the
 * read model activates it. Without an event it is deleted later (`retire-keys.ts`). A repeat returns the same key: the
 * id derives from the command, the secret is read from the row.
 * @throws ApiError CONFLICT at the limit of 100, or when another credential repeats the command
 */
export const issueApiKey = async (
  writes: AccountWrites,
  request: KeyRequest,
  context: CommandContext,
): Promise<IssuedApiKey> => {
  const { key, row } = await keyOf(writes, request, context);
  const { keyId } = row;
  const issue = () => issueOnce(writes, request, row, context);
  let outcome = await issue();
  if (outcome.outcome === 'refused' && outcome.refusal.reason === 'too-many-keys') {
    if (await settleRevocations(writes, context)) outcome = await issue();
  }
  if (outcome.outcome === 'refused') {
    await deleteKeyRow(writes.database, context.customerId, keyId);
    throw accountRefused(outcome.refusal);
  }
  const issued = outcome.state.status === 'NONE' ? undefined : outcome.state.keys[keyId];
  if (issued === undefined) throw new Error(`key ${keyId} is not in the state after its own event`);
  await announceKeyRow(writes.database, context.customerId, row);
  const { name, maskedKey, scopes, issuedAt, expiresAt } = issued;
  return {
    id: keyId,
    name,
    maskedKey,
    status: 'ACTIVE',
    scopes,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    createdAt: issuedAt,
    key,
  };
};

const keyOf = async (
  { database, clock }: AccountWrites,
  { name, user, scopes = scopesOfRole(user.role), expiresAt, sealer }: KeyRequest,
  { commandId, customerId }: CommandContext,
): Promise<{ readonly key: string; readonly row: NewKeyRow }> => {
  const fresh = generateApiKey(keyIdOfCommand(commandId));
  const { keyId } = fresh;
  const rowOf = (
    { maskedKey, secretHash }: ApiKey,
    createdAt: string,
    sealedSecret: Buffer | undefined,
  ): NewKeyRow => ({
    keyId,
    userId: user.id,
    name,
    scopes,
    expiresAt,
    maskedKey,
    secretHash,
    createdAt,
    sealedSecret,
  });
  const secret = fresh.key.slice(`bx_${keyId}_`.length);
  const row = rowOf(fresh, isoTimestamp(clock.now()), sealer?.seal(commandId, secret));
  await insertKeyRow(database, customerId, row);
  if (sealer === undefined) return { key: fresh.key, row };
  const kept = await readSealedSecret(database, customerId, keyId);
  const first = kept?.sealedSecret ? sealer.unseal(commandId, kept.sealedSecret) : undefined;
  if (kept === undefined || kept.sealedSecret === null || first === undefined) throw shownToAnother(keyId);
  const key = apiKeyOf(keyId, first);
  return { key: key.key, row: rowOf(key, kept.createdAt.toISOString(), kept.sealedSecret) };
};

const shownToAnother = (keyId: string): ApiError =>
  new AlreadyDoneError({
    code: 'CONFLICT',
    message:
      'An earlier request with this Idempotency-Key issued the API key, which is shown only to the credential that asked for it. Revoke it and issue another.',
    details: { id: keyId },
  });

const issueOnce = (
  writes: AccountWrites,
  { name, user, scopes, expiresAt }: KeyRequest,
  { keyId, maskedKey, createdAt }: NewKeyRow,
  context: CommandContext,
) =>
  runOnAccount(
    writes,
    {
      type: 'IssueApiKey',
      now: createdAt,
      keyId,
      name,
      maskedKey,
      userId: user.id,
      scopes,
      expiresAt,
    },
    context,
  );

/** Records revocations that a crash kept out of the stream; they would count against the limit forever. */
const settleRevocations = async (writes: AccountWrites, context: CommandContext): Promise<boolean> => {
  const { database, clock } = writes;
  const { customerId, commandId } = context;
  const { state } = await loadAccount(writes, customerId);
  const known = state.status === 'NONE' ? [] : Object.keys(state.keys);
  const revoked = await revokedAmong(database, customerId, known);
  for (const keyId of revoked) {
    const now = isoTimestamp(clock.now());
    const settling = { ...context, commandId: derivedId(commandId, `settle-${keyId}`) };
    await runOnAccount(writes, { type: 'RevokeApiKey', now, keyId }, settling);
  }
  return revoked.length > 0;
};
