import { randomUUID } from 'node:crypto';
import { match } from 'path-to-regexp';
import { auditedKinds } from '../query/history/all-kinds.ts';
import type { Installation } from '../app/installation.ts';
import { historyAlone } from '../query/history/routes.ts';
import type { Config } from '../app/config.ts';
import { ApiError } from '../shared/http/errors.ts';
import { parameterNames } from '../shared/http/openapi.ts';
import { parseQueryString } from '../shared/http/query-string.ts';
import { expressPath, inOrder, type RequestContext, type Route } from '../shared/http/route.ts';
import { refuseParameters } from '../shared/http/route-handler.ts';
import { validate } from '../shared/http/validate.ts';
import { keyRingOf } from '../shared/secrets/key-ring.ts';
import { createTenantDatabase } from '../shared/postgres/tenant-database.ts';
import { createProjectionProgress } from '../shared/follow-log/projection-progress.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { parseId, ArgumentsError } from './parse-args.ts';
import { requireAccount } from './operate-accounts.ts';

/** Gives the operator the history endpoints of the API without a running service or a key. */

const BASE_PATH = '/api/v2/buyer';

const ABOUT =
  "Shows an account's history, as the API does for its administrators. PATH follows " +
  `${BASE_PATH} in the API. Other resources have the same paths.`;

export const addHistoryCommand = (program: OperatorCommand, { installation, config, print }: Tools): void => {
  program
    .command('history')
    .summary("Shows an account's history.")
    .description(ABOUT)
    .argument('<ACCOUNT>', 'id of the account', parseId)
    .argument('<PATH>')
    .exits({ 1: 'the resource does not exist, or the command failed' })
    .example(
      '1 /advertisers/7/history',
      '1 "/advertisers/7/explain?path=/name"',
      '1 "/advertisers/7/diff?from=1&to=3"',
      '1 "/advertisers?status=ALL&asOf=2026-01-31T12:00:00.000Z"',
      '1 "/audit-logs?outcome=denied"',
      '1 /requests/ID',
    )
    .action(async (customerId: number, word: string) => {
      if (!word.startsWith('/'))
        throw new ArgumentsError('PATH must begin with /, e.g. /advertisers/7/history');
      const [path, search] = splitAt(word, '?');
      const opened = await installation();
      await requireAccount(opened, customerId);
      const { route, params } = findRoute(routesOn(opened, config()), path);
      const value = await ask(route, params, search, customerId);
      print(value, JSON.stringify(value, null, 2));
    });
};

const findRoute = (routes: readonly Route[], path: string): FoundRoute => {
  try {
    for (const full of [path, `${BASE_PATH}${path}`, `/api/v2${path}`]) {
      for (const route of inOrder(routes)) {
        const found = match<FoundRoute['params']>(expressPath(route.path), asExpress)(full);
        if (found !== false) return { route, params: found.params };
      }
    }
  } catch (error) {
    throw error instanceof URIError ? new ArgumentsError('the path has broken percent-encoding') : error;
  }
  throw new ArgumentsError(`${path} is not a history path; see the help`);
};

interface FoundRoute {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

const asExpress = { sensitive: true, trailing: false } as const;

const splitAt = (text: string, mark: string): readonly [string, string] => {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + mark.length)];
};

const routesOn = ({ store, requestPool }: Installation, config: Config): readonly Route[] => {
  const reads = { database: createTenantDatabase(requestPool), progress: createProjectionProgress() };
  // Asset URLs start with this. Empty is acceptable: an operator on the machine knows the service's address.
  const kinds = auditedKinds({ ...reads, baseUrl: () => config.BASE_URL ?? '' });
  return historyAlone({ ...reads, store, kinds, keys: keyRingOf(config), onFoldCache: () => undefined });
};

const ask = async (
  route: Route,
  rawParams: Readonly<Record<string, string>>,
  search: string,
  customerId: number,
): Promise<object> => {
  try {
    refuseParameters(route, search);
    const known = new Set(parameterNames(route.query));
    const reply = await route.handle({
      params: route.params && validate(route.params, rawParams),
      query: route.query && validate(route.query, parseQueryString(search, known)),
      headers: undefined,
      body: undefined,
      received: undefined,
      request: requestOf(customerId),
    });
    if ('dataJson' in reply) return JSON.parse(reply.dataJson) as object;
    if (!('data' in reply)) throw new Error('the route answered without data');
    const { data, pagination } = reply;
    // Prints the pagination with a list, because the list alone does not show whether more items exist.
    return Array.isArray(data) ? { items: data, pagination } : (data as object);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 400) throw new ArgumentsError(error.message);
    throw new Error(error.message, { cause: error });
  }
};

const requestOf = (customerId: number): RequestContext => ({
  requestId: randomUUID(),
  principal: { customerId, actor: 'operator', scopes: ['exchange:read', 'exchange:admin'] },
  client: { address: '', agent: undefined },
  commandId: randomUUID(),
  bodyBytes: 0,
  isRepeatable: false,
  reserved: {},
  hasRunBefore: async () => false,
  onEvents: () => undefined,
  isAbandoned: () => false,
  isClientGone: () => false,
});
