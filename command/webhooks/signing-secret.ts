import { randomBytes } from 'node:crypto';
import { WEBHOOK_SUBSCRIPTION } from '../../domain/webhooks/webhook-subscription.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { AlreadyDoneError, type ApiError } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import type { SecretStore } from '../../shared/secrets/secret-store.ts';

/** The form of Standard Webhooks. */
export const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** Different for each credential: a repeat with another one does not reach the secret that was shown. */
const secretIdOf = ({ commandId, principal: { actor } }: RequestContext): string =>
  derivedId(commandId, `webhook-secret for ${actor}`);

/**
 * Stores the given or a new secret before the event that refers to it. After a crash in between nothing refers to
 * it, and a sweep deletes it; a repeat finds and keeps it.
 */
export const storeSecret = async (
  secrets: SecretStore,
  subscriptionId: string,
  given: string | undefined,
  request: RequestContext,
): Promise<string> => {
  const secretId = secretIdOf(request);
  const owner = { kind: WEBHOOK_SUBSCRIPTION, id: subscriptionId };
  await secrets.putFirst(request.principal.customerId, secretId, given ?? newSecret(), owner);
  return secretId;
};

/**
 * @param secretId that the command's event refers to
 * @returns undefined for a secret that the request itself gave
 * @throws ApiError CONFLICT when another credential repeats the command, or the secret was replaced
 */
export const secretToShow = async (
  secrets: SecretStore,
  { secretId, given }: { readonly secretId: string; readonly given: string | undefined },
  request: RequestContext,
): Promise<string | undefined> => {
  if (given !== undefined) return undefined;
  if (secretId !== secretIdOf(request)) throw shownBefore();
  const secret = await secrets.get(request.principal.customerId, secretId);
  if (secret === undefined) throw shownBefore();
  return secret;
};

const shownBefore = (): ApiError =>
  new AlreadyDoneError({
    code: 'CONFLICT',
    message:
      'An earlier request with this Idempotency-Key did this. Its secret is shown only to the credential that asked for it, until it is replaced. Rotate the secret to get another.',
  });
