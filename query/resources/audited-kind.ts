import type { z } from 'zod';
import type { AuditedResource } from '../../domain/history/audit-log-resource.ts';
import type { SchemaVersions } from '../../shared/aggregate/event-versions.ts';
import type { StorableEvent } from '../../shared/aggregate/recorded-domain-event.ts';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import type { Scope } from '../../shared/http/principal.ts';
import type { RouteDeclaration } from '../../shared/http/route.ts';
import type { ResourceTable } from './resource-reads.ts';
import type { SessionCursors } from './session-cursor.ts';
import type { SeenJob } from './seen-job.ts';

/** Where the events of one thing are. */
export interface FoundStream {
  readonly stream: string;
  /** Which of the things whose events share the stream; absent where it has one to itself. */
  readonly part?: string;
}

/** Path and query of a request for a thing, as they were parsed. */
export type Asked = Readonly<Record<string, unknown>>;

/** Where the API has a kind of things. */
export interface Place {
  /** Of one of them, in OpenAPI form; its history, difference and explanation are below it. */
  readonly path: string;
  readonly params: z.ZodObject;
  /** Further parameters that say which one is meant. */
  readonly query?: z.ZodObject;
  readonly tag: string;
  /** What a credential must have to see it. Default `exchange:read`. */
  readonly access?: Scope;
  /**
   * The stream of what the path names; undefined when nothing has such an id.
   * @throws ApiError VALIDATION_ERROR when several have it
   */
  readonly find: (
    customerId: number,
    asked: Asked,
  ) => FoundStream | undefined | Promise<FoundStream | undefined>;
  /** Whether the path is that of the thing: it may name what the thing belongs to. */
  readonly isAt: (state: unknown, asked: Asked, part: string | undefined) => boolean;
}

/** A moment in the past of an account. */
export interface Moment {
  readonly customerId: number;
  /** ISO 8601, UTC, milliseconds. */
  readonly at: string;
  /** What other streams had come to at that moment, in their order. */
  readonly statesOf: (kind: AuditedKind, streams: readonly string[]) => Promise<readonly unknown[]>;
}

/** A read of one thing that can also answer how it was. */
export interface Detail {
  /** The read as it is. */
  readonly route: RouteDeclaration;
  /** The thing as that read shows it; undefined where it would be 404. */
  readonly shown: (state: unknown, asked: Asked, then: Moment) => unknown;
}

/** Whose things a list has. */
export interface ListOwner {
  readonly resourceType: 'ADVERTISER' | 'CAMPAIGN';
  /** Of path or query; one of a query may be left out. */
  readonly parameter: string;
  /** What read models call it; undefined when nothing has such an id. Default: as it was parsed. */
  readonly idOf?: (asked: unknown) => string | undefined;
  /** The list is 404 where there is no such owner. */
  readonly mustBeThere: boolean;
}

/** What a list answers with beside the things themselves. */
interface ListedPage {
  readonly items: readonly unknown[];
  readonly skip: number;
  readonly take: number;
  readonly total: number;
}

/** A list that can also answer how it was: of things that have a stream each. */
export interface ListRead<Live = unknown> {
  /** The list as it is. */
  readonly route: RouteDeclaration;
  /** Absent, or not asked for: all of the account. */
  readonly owner?: ListOwner;
  /** With this value of this parameter the list leaves nothing out, in the order of creation. Default: it never does. */
  readonly whole?: { readonly parameter: string; readonly value: string };
  /** For whoever has too many: how to ask for fewer. Absent: there is no way. */
  readonly narrower?: string;
  /** How far back the list can be answered, in days, where it shows more than events tell. Default: any time. */
  readonly keptDays?: number;
  /** Those of a page as the list has them. @throws ReadModelBehindError where more than their streams is asked */
  readonly shown: (
    page: readonly Live[],
    customerId: number,
  ) => readonly unknown[] | Promise<readonly unknown[]>;
  /** Whether it was listed, where no filter is asked for. */
  readonly keeps: (live: Live, asked: Asked) => boolean;
  /** The order of the list, as of `Array.sort`. */
  readonly order: (one: Live, other: Live) => number;
  /** `data` of the answer. Default: the items, with the pagination beside them. */
  readonly data?: (page: ListedPage) => unknown;
  /** Of a list that is paged by cursors: `data` of all that was kept, in order. */
  readonly dataAtCursor?: (
    kept: readonly Live[],
    asked: Asked,
    customerId: number,
    cursors: SessionCursors,
  ) => Promise<unknown>;
}

/** A list that can also answer how it was: of things whose events share one stream. */
export interface SharedListRead<Live = unknown> {
  /** The list as it is. */
  readonly route: RouteDeclaration;
  /** @throws ApiError NOT_FOUND where there is no such list */
  readonly streamOf: (customerId: number, asked: Asked) => string;
  /** All that was listed then, as the list has it and in its order. */
  readonly all: (live: Live, asked: Asked, then: Moment) => readonly unknown[] | Promise<readonly unknown[]>;
}

/** Where in the log something is, and whose command it is. */
export interface CauseInLog {
  readonly stream: string;
  readonly position: string;
  readonly causationId: string;
}

/** How what the service did by itself with a kind of things follows from what happened before. */
export interface Causes {
  /** The jobs that a stream's events tell of. @param latest the state behind the last of them */
  readonly jobsAmong?: (events: readonly RecordedEvent[], latest: unknown) => readonly SeenJob[];
  /** Streams of other things whose changes had the service do something with this one. */
  readonly followed?: (state: unknown) => readonly string[];
  /** Whether the id of a command says that it follows from that very event. */
  readonly isCause?: (cause: CauseInLog, effect: CauseInLog) => boolean;
}

/** A kind of things whose changes are in streams of their own: all that history and the audit log know of it. */
export interface AuditedKind {
  /** Of the streams: their names begin with it. */
  readonly category: string;
  /** In the audit log, e.g. `ADVERTISER`. */
  readonly resourceType: AuditedResource;
  /** In messages, e.g. `advertiser`; in names of operations with a capital. */
  readonly noun: string;
  /** Which versions of its streams' events are known, and how older ones are raised. */
  readonly events: SchemaVersions;
  readonly initialState: unknown;
  readonly evolve: (state: unknown, event: StorableEvent) => unknown;
  /** Memory of a state, where that is not what its JSON says: states may share what they are made of. */
  readonly bytesOf?: (state: unknown) => number;
  /**
   * What is compared and explained: the thing as the API shows it, and perhaps more. Undefined: there is none. Never a
   * secret, never what is about a person.
   */
  readonly audited: (state: unknown, part: string | undefined) => unknown;
  /** As the API shows it. */
  readonly idOf: (state: unknown, part: string | undefined) => string | undefined;
  /** How people call it; undefined where it has no name. */
  readonly nameOf: (state: unknown, part: string | undefined) => string | undefined;
  /** The streams that a thing may have whose id is shown so; the advertiser is known where that was asked for, too. */
  readonly streamsOf: (
    customerId: number,
    shown: string,
    advertiserId: number | undefined,
  ) => readonly string[];
  /** Where such things are found by ids that are an advertiser's own; absent of things with ids of their own. */
  readonly keyedIn?: ResourceTable;
  readonly place?: Place;
  readonly details: readonly Detail[];
  /** What `audited` and `lists` are of: undefined before the first event. */
  readonly live: (state: unknown) => unknown;
  readonly lists: readonly ListRead[];
  readonly sharedLists: readonly SharedListRead[];
  readonly causes: Causes;
}

/** What a kind is declared with: the functions that its commands and reads have anyway. */
export interface KindDefinition<State, Live extends State, Event extends StorableEvent> {
  readonly category: string;
  readonly resourceType: AuditedResource;
  readonly noun: string;
  readonly events: SchemaVersions;
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
  readonly bytesOf?: (state: State) => number;
  /** Undefined before the first event. */
  readonly live: (state: State) => Live | undefined;
  readonly audited: (live: Live, part: string | undefined) => unknown;
  readonly idOf: (live: Live, part: string | undefined) => string | undefined;
  readonly streamsOf?: AuditedKind['streamsOf'];
  readonly keyedIn?: ResourceTable;
  readonly nameOf?: (live: Live, part: string | undefined) => string | undefined;
  readonly place?: Omit<Place, 'isAt'> & {
    readonly isAt?: (live: Live, asked: Asked, part: string | undefined) => boolean;
  };
  readonly details?: readonly {
    readonly route: RouteDeclaration;
    /** Undefined, or a promise of it, where that read would be 404. */
    readonly shown: (live: Live, asked: Asked, then: Moment) => unknown;
  }[];
  readonly lists?: readonly ListRead<Live>[];
  readonly sharedLists?: readonly SharedListRead<Live>[];
  readonly causes?: Omit<Causes, 'jobsAmong' | 'followed'> & {
    readonly jobsAmong?: (events: readonly RecordedEvent[], latest: Live) => readonly SeenJob[];
    readonly followed?: (live: Live) => readonly string[];
  };
}

/** Forgets the types of a kind's states: whoever has it folds the streams of its category with it and no others. */
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
