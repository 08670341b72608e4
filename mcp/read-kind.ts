import { invalid, notFound } from '../shared/http/errors.ts';
import type { RouteInput } from '../shared/http/invoke-route.ts';
import { kindOf, type KindName, type List, type ParametersFrom, type Read } from './kinds.ts';
import { namingArguments, takesAsOf, type Operations } from './operations.ts';
import type { ReadPage } from './page.ts';
import { requirePlaces, type Places } from './places.ts';
import type { ToolCall } from './tool.ts';
import type { Row } from './truncate.ts';

export interface Named extends Places {
  readonly kind: KindName;
  readonly id?: string | undefined;
  /** A revision or a time: as it was then. */
  readonly asOf?: string | undefined;
}

type Invoke = ToolCall['invoke'];
type Query = NonNullable<RouteInput['query']>;

const valuesOf = (from: ParametersFrom | undefined, { id, ...places }: Named): Record<string, string> => {
  const given: Readonly<Record<string, string | undefined>> = { ...places, id };
  return Object.fromEntries(
    Object.entries(from ?? {}).flatMap(([parameter, argument]) => {
      const value = given[argument];
      return value === undefined ? [] : [[parameter, value]];
    }),
  );
};

/** @throws ApiError VALIDATION_ERROR if the id or a place is missing */
const requireNamed = (named: Named): void => {
  const { needs } = kindOf(named.kind);
  requirePlaces(named.kind, needs, named);
  if (named.id === undefined && named.kind !== 'account') {
    throw invalid(`id is needed for kind ${named.kind}.`, 'id');
  }
};

/** The resource as its route shows it. @throws ApiError as the route does */
export const readKind = async (operations: Operations, invoke: Invoke, named: Named): Promise<Row> => {
  requireNamed(named);
  const { read } = kindOf(named.kind);
  if (read === 'syndication record') return readRecord(invoke, named);
  return 'idMember' in read
    ? findInList(operations, invoke, named, read.idMember)
    : readOne(operations, invoke, named, read);
};

const readOne = async (
  operations: Operations,
  invoke: Invoke,
  named: Named,
  { operationId, params, query, member }: Read,
): Promise<Row> => {
  refuseAsOf(operations, operationId, named);
  const input = { params: valuesOf(params, named), query: { ...valuesOf(query, named), asOf: named.asOf } };
  const { data } = await namingArguments({ ...params, ...query }, invoke(operationId, input));
  return (member === undefined ? data : (data as Row)[member]) as Row;
};

const refuseAsOf = (operations: Operations, operationId: string, { kind, asOf }: Named): void => {
  if (asOf === undefined || takesAsOf(operations.of(operationId))) return;
  throw invalid(`The past of kind ${kind} is not known here. Leave asOf out, or use history.`, 'asOf');
};

/** Such lists are short: a few hundred rows. */
const PAGE_ROWS = 200;

const findInList = async (
  operations: Operations,
  invoke: Invoke,
  named: Named,
  idMember: string,
): Promise<Row> => {
  const [list] = kindOf(named.kind).lists;
  if (list === undefined) throw new Error(`kind ${named.kind} has no list`);
  refuseAsOf(operations, list.operationId, named);
  let position: string | undefined;
  do {
    const asked = { list, places: named, query: { asOf: named.asOf } };
    const page = await readList(operations, invoke, asked, position, PAGE_ROWS);
    const found = page.rows.find((row) => String(row[idMember]) === named.id);
    if (found !== undefined) return found;
    position = page.next;
  } while (position !== undefined);
  throw notFound(named.kind.replaceAll('_', ' '));
};

/** A list may have very many records; the explanation of one names its resource and agent. */
const readRecord = async (invoke: Invoke, named: Named): Promise<Row> => {
  const { advertiserId = '', id = '', asOf } = named;
  const explained = await namingArguments(
    { id: 'advertiserId', recordId: 'id' },
    invoke('explainSyndicationRecord', { params: { id: advertiserId, recordId: id }, query: { asOf } }),
  );
  const { members } = explained.data as {
    readonly members: readonly { readonly path: string; readonly value: unknown }[];
  };
  const valueOf = (member: string): string => {
    const value = members.find(({ path }) => path === `/${member}`)?.value;
    return String(value);
  };
  const query = {
    resourceType: valueOf('resourceType'),
    resourceId: valueOf('resourceId'),
    adcpAgentId: valueOf('adcpAgentId'),
    asOf,
  };
  const { data } = await invoke('querySyndicationStatus', { params: { advertiserId }, query });
  const found = (data as { readonly items: readonly Row[] }).items.find((record) => record['id'] === id);
  if (found === undefined) throw notFound('syndication record');
  return found;
};

export interface AskedList {
  readonly list: List;
  readonly places: Places;
  readonly query: Query;
}

/** @param position as `ReadPage.next` gives it */
export const readList = async (
  operations: Operations,
  invoke: Invoke,
  { list: { operationId, of, parameter, member, hasCursors }, places, query }: AskedList,
  position: string | undefined,
  limit: number,
): Promise<ReadPage> => {
  const params = of === undefined || parameter === undefined ? {} : { [parameter]: places[of] ?? '' };
  const renamed = of === undefined || parameter === undefined ? {} : { [parameter]: of };
  const skip = Number(position ?? 0);
  const isPaged = 'take' in queryOf(operations, operationId);
  const paging = hasCursors ? { limit, cursor: position } : isPaged ? { take: limit, skip } : {};
  const answer = await namingArguments(
    renamed,
    invoke(operationId, { params, query: { ...query, ...paging } }),
  );
  const data = answer.data as Readonly<Record<string, unknown>>;
  const rows = (member === undefined ? data : data[member]) as readonly Row[];
  if (hasCursors) return { rows, next: data['nextCursor'] as string | undefined };
  const all = isPaged ? rows : rows.slice(skip, skip + limit);
  const total = isPaged ? (answer.pagination?.total ?? Number(data['total'])) : rows.length;
  const end = skip + all.length;
  return {
    rows: all,
    total,
    after: (count) => String(skip + count),
    ...(all.length > 0 && end < total && { next: String(end) }),
  };
};

const queryOf = (operations: Operations, operationId: string): object => {
  const { query } = operations.of(operationId);
  return query !== undefined && 'shape' in query ? (query.shape as object) : {};
};

/** The parameters of the routes of a kind's history. @throws ApiError VALIDATION_ERROR */
export const historyOf = (
  named: Named,
): {
  readonly noun: string;
  readonly input: { readonly params: Record<string, string>; readonly query: Query };
  readonly argumentOf: Readonly<Record<string, string>>;
} => {
  const { history } = kindOf(named.kind);
  if (history === undefined) throw invalid(`Kind ${named.kind} has no history.`, 'kind');
  requireNamed(named);
  const { noun, params, query } = history;
  return {
    noun,
    input: { params: valuesOf(params, named), query: valuesOf(query, named) },
    argumentOf: { ...params, ...query },
  };
};
