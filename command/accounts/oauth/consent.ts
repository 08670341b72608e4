import type { Pool } from 'pg';
import type Provider from 'oidc-provider';
import { v5 } from 'uuid';
import { Role, scopesOfRole, type Scope } from '../../../domain/accounts/access.ts';
import { GRANT_DAYS } from '../../../domain/accounts/oauth-grant.ts';
import { scopeDescriptions } from '../../../domain/accounts/scope-descriptions.ts';
import type { CommandContext } from '../../../shared/aggregate/command-context.ts';
import { ApiError, conflict, invalid, notFound } from '../../../shared/http/errors.ts';
import type { Principal } from '../../../shared/http/principal.ts';
import type { FindUser } from './authorization-server.ts';
import { findClient } from './clients.ts';
import { hasStarted } from './cookies.ts';
import { authorizeClient, endGrant } from './grants.ts';
import type { GrantWrites } from './handler.ts';
import { CLOCK_TOLERANCE_SECONDS } from './provider.ts';
import { SIGNED_IN_SINCE } from './provider-request.ts';

export interface ConsentOptions extends GrantWrites {
  readonly pool: Pick<Pool, 'query'>;
  readonly provider: () => Promise<Provider>;
  readonly findUser: FindUser;
}

/** The authorization that this browser has started, and this user decides. */
export interface ConsentSubject {
  readonly uid: string;
  readonly cookie: string | undefined;
  readonly user: Principal['user'];
  readonly sessionId: string;
}

type Interaction = InstanceType<Provider['Interaction']>;

/**
 * @throws ApiError NOT_FOUND if it has expired, is finished, or was started by another browser; UNAUTHORIZED if the app
 * asks for a newer sign-in
 */
const findInteraction = async (
  { provider, pool }: ConsentOptions,
  { uid, cookie, sessionId }: ConsentSubject,
): Promise<Interaction> => {
  const found = hasStarted(cookie, uid) ? await (await provider()).Interaction.find(uid) : undefined;
  if (found === undefined) throw notFound('request of an app');
  const since = found.params[SIGNED_IN_SINCE];
  if (since !== undefined) await refuseOldSession(pool, sessionId, Number(since));
  return found;
};

/** A sign-in from the page that the refusal leads to ends this session, and starts one that is new enough. */
const refuseOldSession = async (
  pool: ConsentOptions['pool'],
  sessionId: string,
  since: number,
): Promise<void> => {
  const { rows } = await pool.query({
    name: 'session-began-since',
    text: 'select from sessions where session_id = $1 and auth_time >= to_timestamp($2)',
    values: [sessionId, since - CLOCK_TOLERANCE_SECONDS],
  });
  if (rows.length > 0) return;
  throw new ApiError({
    code: 'UNAUTHORIZED',
    message: 'The app asks for a new sign-in. Sign in again, then allow or deny.',
    details: { reason: 'sign-in-again' },
  });
};

export const describeConsent = async (options: ConsentOptions, asked: ConsentSubject) => {
  const { params } = await findInteraction(options, asked);
  const user = userOf(asked);
  const account = await options.findUser(user.id);
  return {
    client: await clientOf(options, String(params['client_id'])),
    redirectHost: redirectHostOf(String(params['redirect_uri'])),
    scopes: allowedScopes(params['scope'], user.role).map((scope) => ({
      scope,
      description: scopeDescriptions[scope],
    })),
    resources: resourcesOf(params['resource']),
    lifetimeDays: GRANT_DAYS,
    ...(account && { account }),
  };
};

export type ConsentDecision =
  | { readonly decision: 'deny' }
  | { readonly decision: 'allow'; readonly scopes?: readonly Scope[] | undefined };

/** @returns where the browser goes on */
export const decideConsent = async (
  options: ConsentOptions,
  asked: ConsentSubject,
  decision: ConsentDecision,
  context: CommandContext,
): Promise<string> => {
  const interaction = await findInteraction(options, asked);
  const before = interaction.result?.consent?.grantId;
  const result =
    decision.decision === 'deny'
      ? { error: 'access_denied', error_description: 'the user did not agree' }
      : await agree(options, asked, interaction, decision.scopes, context);
  // An earlier decision in this browser, perhaps another user's: no client will get a code for it.
  const isSame = 'consent' in result && result.consent.grantId === before;
  if (before !== undefined && !isSame) await endGrant(options, before, 'user', context);
  interaction.result = result;
  await interaction.persist();
  return interaction.returnTo;
};

/** The id of the grant derives from the authorization and the user: a repeat agrees to the same grant. */
const agree = async (
  options: ConsentOptions,
  asked: ConsentSubject,
  { params }: Interaction,
  chosen: readonly Scope[] | undefined,
  context: CommandContext,
) => {
  const user = userOf(asked);
  const allowed = allowedScopes(params['scope'], user.role);
  const scopes = chosen === undefined ? allowed : allowed.filter((scope) => chosen.includes(scope));
  if (scopes.length === 0)
    throw invalid('The app would get no scope. Choose one of those it asks for.', 'scopes');
  const grantId = v5(`${asked.uid} ${user.id}`, GRANT_NAMESPACE);
  const client = await clientOf(options, String(params['client_id']));
  const authorized = {
    grantId,
    userId: user.id,
    clientId: client.id,
    clientName: client.name,
    ...(client.host === undefined ? {} : { clientHost: client.host }),
    scopes: [...scopes],
    resources: [...resourcesOf(params['resource'])],
  };
  if (!(await authorizeClient(options, authorized, context)))
    throw conflict('This request was denied before. Start again from the app.');
  return { login: { accountId: user.id, remember: false }, consent: { grantId } };
};

const GRANT_NAMESPACE = 'c2d1a7f4-64b5-5f0e-9d4a-0f2b7a3c9e15';

const userOf = ({ user }: ConsentSubject) => {
  if (user === undefined) throw new Error('a session has a user');
  return { id: user.id, role: Role.parse(user.role) };
};

const allowedScopes = (requested: unknown, role: Role): readonly Scope[] => {
  const all = String(requested).split(' ');
  return scopesOfRole(role).filter((scope) => all.includes(scope));
};

const resourcesOf = (resource: unknown): readonly string[] => [resource ?? []].flat().map(String);

const clientOf = async ({ provider, pool }: ConsentOptions, clientId: string) => {
  const registered = await findClient(pool, clientId);
  const found = registered?.metadata ?? (await (await provider()).Client.find(clientId))?.metadata();
  if (found === undefined) throw notFound('client');
  return {
    id: clientId,
    name: String(found.client_name),
    ...(registered === undefined && { host: new URL(clientId).host }),
    isVerified: registered?.registeredBy === 'operator',
    registration: registered?.registeredBy ?? ('metadata-document' as const),
  };
};

/** A private scheme has no host: `cursor:`. */
const redirectHostOf = (redirectUri: string): string => {
  const { host, protocol } = new URL(redirectUri);
  return ['http:', 'https:'].includes(protocol) ? host : protocol;
};
