import type { Pool } from 'pg';
import type Provider from 'oidc-provider';
import { v5 } from 'uuid';
import { Role, scopesOfRole, type Scope } from '../../../domain/accounts/access.ts';
import { GRANT_DAYS } from '../../../domain/accounts/oauth-grant.ts';
import { scopeDescriptions } from '../../../domain/accounts/scope-descriptions.ts';
import type { CommandContext } from '../../../shared/aggregate/command-context.ts';
import { invalid, notFound } from '../../../shared/http/errors.ts';
import type { Principal } from '../../../shared/http/principal.ts';
import type { FindUser } from './authorization-server.ts';
import { findClient } from './clients.ts';
import { hasStarted } from './cookies.ts';
import { authorizeClient } from './grants.ts';
import type { GrantWrites } from './handler.ts';

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
}

type Interaction = InstanceType<Provider['Interaction']>;

/** @throws ApiError NOT_FOUND if it has expired, is finished, or was started by another browser */
const findInteraction = async (
  { provider }: ConsentOptions,
  { uid, cookie }: ConsentSubject,
): Promise<Interaction> => {
  const found = hasStarted(cookie, uid) ? await (await provider()).Interaction.find(uid) : undefined;
  if (found === undefined) throw notFound('request of an app');
  return found;
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
  interaction.result =
    decision.decision === 'deny'
      ? { error: 'access_denied', error_description: 'the user did not agree' }
      : await agree(options, asked, interaction, decision.scopes, context);
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
  await authorizeClient(options, authorized, context);
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
