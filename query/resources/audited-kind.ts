import type { z } from 'zod';
import type { AuditedResource } from '../../domain/history/audit-log-resource.ts';
import type { SchemaVersions } from '../../shared/aggregate/event-versions.ts';
import type { StorableEvent } from '../../shared/aggregate/recorded-domain-event.ts';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import type { Scope } from '../../shared/http/principal.ts';
import type { RouteDeclaration } from '../../shared/http/route.ts';
import type { ResourceTable } from './resource-reads.ts';
import type { ListCursors } from './list-cursor.ts';
import type { JobHistory } from './job-history.ts';

export interface FoundStream {
  readonly stream: string;
  readonly part?: string;
}

export type RequestParams = Readonly<Record<string, unknown>>;

export interface Place {
  /** In OpenAPI form; history, difference and explanation are below it. */
  readonly path: string;
  readonly params: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly tag: string;
  readonly access?: Scope;
  /** @returns undefined if no resource has the id @throws ApiError VALIDATION_ERROR if several have it */
  readonly find: (
    customerId: number,
    asked: RequestParams,
  ) => FoundStream | undefined | Promise<FoundStream | undefined>;
  /** False for a path with another owner. */
  readonly isAt: (state: unknown, asked: RequestParams, part: string | undefined) => boolean;
}

export interface Moment {
  readonly customerId: number;
  readonly at: string;
  readonly statesOf: (kind: AuditedKind, streams: readonly string[]) => Promise<readonly unknown[]>;
}

export interface Detail {
  readonly route: RouteDeclaration;
  readonly shown: (state: unknown, asked: RequestParams, then: Moment) => unknown;
}

export interface ListOwner {
  readonly resourceType: 'ADVERTISER' | 'CAMPAIGN';
  /** In the path or query; a query parameter may be absent. */
  readonly parameter: string;
  /** Undefined if the text is not an owner's id. Default: the parsed parameter. */
  readonly idOf?: (asked: unknown) => string | undefined;
  /** Otherwise the list is 404. */
  readonly mustBeThere: boolean;
}

interface ListedPage {
  readonly items: readonly unknown[];
  readonly skip: number;
  readonly take: number;
  readonly total: number;
}

export interface ListRead<Live = unknown> {
  readonly route: RouteDeclaration;
  /** Absent, or its parameter absent: the list is the account's. */
  readonly owner?: ListOwner;
  /** Leaves nothing out and is in order of creation. Default: never. */
  readonly whole?: { readonly parameter: string; readonly value: string };
  /** How to narrow a list of too many resources. */
  readonly narrower?: string;
  /** Past known, if the list shows more than events contain. Default: all. */
  readonly keptDays?: number;
  /** @throws ReadModelBehindError if it needs more than the streams */
  readonly shown: (
    page: readonly Live[],
    customerId: number,
  ) => readonly unknown[] | Promise<readonly unknown[]>;
  /** True if the list, without filters, contained the resource. */
  readonly keeps: (live: Live, asked: RequestParams) => boolean;
  readonly order: (one: Live, other: Live) => number;
  /** `data` of the answer. Default: the items, with a pagination. */
  readonly data?: (page: ListedPage) => unknown;
  /** For a list with cursors: all listed resources, in order. */
  readonly dataAtCursor?: (
    kept: readonly Live[],
    asked: RequestParams,
    customerId: number,
    cursors: ListCursors,
  ) => Promise<unknown>;
}

export interface SharedListRead<Live = unknown> {
  readonly route: RouteDeclaration;
  /** @throws ApiError NOT_FOUND if there is no such list */
  readonly streamOf: (customerId: number, asked: RequestParams) => string;
  readonly all: (
    live: Live,
    asked: RequestParams,
    then: Moment,
  ) => readonly unknown[] | Promise<readonly unknown[]>;
}

export interface CauseInLog {
  readonly stream: string;
  readonly position: string;
  readonly causationId: string;
}

export interface Causes {
  readonly jobsAmong?: (events: readonly RecordedEvent[], latest: unknown) => readonly JobHistory[];
  /** Their changes trigger work on this resource. */
  readonly followed?: (state: unknown) => readonly string[];
  /** The id of the effect's command derives from that event. */
  readonly isCause?: (cause: CauseInLog, effect: CauseInLog) => boolean;
}

export interface AuditedKind {
  readonly category: string;
  readonly resourceType: AuditedResource;
  /** In messages, e.g. `advertiser`; capitalized in operation ids. */
  readonly noun: string;
  readonly events: SchemaVersions;
  readonly initialState: unknown;
  readonly evolve: (state: unknown, event: StorableEvent) => unknown;
  /** Memory of a state in bytes, if states share parts. Default: by its JSON. */
  readonly bytesOf?: (state: unknown) => number;
  /** The API's resource, perhaps with more members. Undefined: none. Never a secret or personal data. */
  readonly audited: (state: unknown, part: string | undefined) => unknown;
  readonly idOf: (state: unknown, part: string | undefined) => string | undefined;
  readonly nameOf: (state: unknown, part: string | undefined) => string | undefined;
  /** `advertiserId` if the request names one. */
  readonly streamsOf: (
    customerId: number,
    shown: string,
    advertiserId: number | undefined,
  ) => readonly string[];
  /** Finds resources by buyer keys; absent for kinds with ids of the account. */
  readonly keyedIn?: ResourceTable;
  readonly place?: Place;
  readonly details: readonly Detail[];
  /** As `audited` and `lists` take it; undefined before the first event. */
  readonly live: (state: unknown) => unknown;
  readonly lists: readonly ListRead[];
  readonly sharedLists: readonly SharedListRead[];
  readonly causes: Causes;
}

export interface KindDefinition<State, Live extends State, Event extends StorableEvent> {
  readonly category: string;
  readonly resourceType: AuditedResource;
  readonly noun: string;
  readonly events: SchemaVersions;
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
  readonly bytesOf?: (state: State) => number;
  readonly live: (state: State) => Live | undefined;
  readonly audited: (live: Live, part: string | undefined) => unknown;
  readonly idOf: (live: Live, part: string | undefined) => string | undefined;
  readonly streamsOf?: AuditedKind['streamsOf'];
  readonly keyedIn?: ResourceTable;
  readonly nameOf?: (live: Live, part: string | undefined) => string | undefined;
  readonly place?: Omit<Place, 'isAt'> & {
    readonly isAt?: (live: Live, asked: RequestParams, part: string | undefined) => boolean;
  };
  readonly details?: readonly {
    readonly route: RouteDeclaration;
    readonly shown: (live: Live, asked: RequestParams, then: Moment) => unknown;
  }[];
  readonly lists?: readonly ListRead<Live>[];
  readonly sharedLists?: readonly SharedListRead<Live>[];
  readonly causes?: Omit<Causes, 'jobsAmong' | 'followed'> & {
    readonly jobsAmong?: (events: readonly RecordedEvent[], latest: Live) => readonly JobHistory[];
    readonly followed?: (live: Live) => readonly string[];
  };
}

/** Erases the types of states: fold only streams of the category with it. */
export const auditedKind = <State, Live extends State, Event extends StorableEvent>({
  evolve,
  live,
  audited,
  idOf,
  nameOf = () => undefined,
  streamsOf = () => [],
  place,
  details = [],
  lists = [],
  sharedLists = [],
  causes: { jobsAmong, followed, ...causes } = {},
  bytesOf,
  ...names
}: KindDefinition<State, Live, Event>): AuditedKind => {
  const ofLive = <Result>(state: unknown, make: (live: Live) => Result): Result | undefined => {
    const there = live(state as State);
    return there === undefined ? undefined : make(there);
  };
  return {
    ...names,
    evolve: (state, event) => evolve(state as State, event as Event),
    ...(bytesOf === undefined ? {} : { bytesOf: (state: unknown) => bytesOf(state as State) }),
    audited: (state, part) => ofLive(state, (one) => audited(one, part)),
    idOf: (state, part) => ofLive(state, (one) => idOf(one, part)),
    streamsOf,
    causes: {
      ...causes,
      ...(jobsAmong && {
        jobsAmong: (events, latest) => ofLive(latest, (one) => jobsAmong(events, one)) ?? [],
      }),
      ...(followed && { followed: (state) => ofLive(state, followed) ?? [] }),
    },
    nameOf: (state, part) => ofLive(state, (one) => nameOf(one, part)),
    details: details.map(({ route, shown }) => ({
      route,
      shown: (state, asked, then) => ofLive(state, (one) => shown(one, asked, then)),
    })),
    live: (state) => ofLive(state, (one) => one),
    lists: lists.map(({ shown, keeps, order, dataAtCursor, ...list }) => ({
      ...list,
      shown: (page, customerId) => shown(page as readonly Live[], customerId),
      keeps: (one, asked) => keeps(one as Live, asked),
      order: (one, other) => order(one as Live, other as Live),
      ...(dataAtCursor && {
        dataAtCursor: (kept: readonly unknown[], ...rest) => dataAtCursor(kept as readonly Live[], ...rest),
      }),
    })),
    sharedLists: sharedLists.map(({ all, ...list }) => ({
      ...list,
      all: (past, asked, then) => all(past as Live, asked, then),
    })),
    ...(place === undefined
      ? {}
      : {
          place: {
            ...place,
            isAt: (state, asked, part) =>
              ofLive(state, (one) => place.isAt?.(one, asked, part) ?? true) === true,
          },
        }),
  };
};
