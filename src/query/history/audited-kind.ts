import type { z } from 'zod';
import type { AuditedResource } from '../../domain/history/audit-log-resource.ts';
import type { SchemaVersions } from '../../shared/command/event-versions.ts';
import type { StorableEvent } from '../../shared/command/recorded-domain-event.ts';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import type { Scope } from '../../shared/http/principal.ts';
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
  /** What another stream had come to at that moment. */
  readonly stateOf: (kind: AuditedKind, stream: string) => Promise<unknown>;
}

/** A read of one thing that can also answer how it was. */
export interface Detail {
  readonly operationId: string;
  /** The thing as that read shows it; undefined where it would be 404. */
  readonly shown: (state: unknown, asked: Asked, then: Moment) => unknown;
}

/** A list that can also answer how it was: of things that a read model has one row each of. */
export interface ListRead {
  readonly operationId: string;
  /** Read model and table of one name, with `customer_id`, `id` and `created_at`. */
  readonly table: string;
  readonly streamOf: (customerId: number, id: string) => string;
  /** A parameter that says whose things are listed, and its column. */
  readonly owner?: { readonly parameter: string; readonly column: string };
  /** True when what is asked for leaves nothing out. */
  readonly isEverything: (asked: Asked) => boolean;
  /** For whoever has too many: how to ask for fewer. */
  readonly narrower: string;
  /** One of them as the list has it; undefined where there is none. */
  readonly shown: (state: unknown) => unknown;
  /** Whether it is what was asked for. */
  readonly keeps: (shown: unknown, asked: Asked) => boolean;
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
  readonly place?: Place;
  readonly details: readonly Detail[];
  readonly lists: readonly ListRead[];
  readonly causes: Causes;
}

interface Evolving<State, Event> {
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
}

/** What a kind is declared with: the functions that its commands and reads have anyway. */
export interface KindDefinition<State, Live extends State, Event extends StorableEvent, Listed = unknown> {
  readonly category: string;
  readonly resourceType: AuditedResource;
  readonly noun: string;
  readonly events: SchemaVersions;
  readonly decider: Evolving<State, Event>;
  readonly bytesOf?: (state: State) => number;
  /** Undefined before the first event. */
  readonly live: (state: State) => Live | undefined;
  readonly audited: (live: Live, part: string | undefined) => unknown;
  readonly idOf: (live: Live, part: string | undefined) => string | undefined;
  readonly streamsOf?: AuditedKind['streamsOf'];
  readonly nameOf?: (live: Live, part: string | undefined) => string | undefined;
  readonly place?: Omit<Place, 'isAt'> & {
    readonly isAt?: (live: Live, asked: Asked, part: string | undefined) => boolean;
  };
  readonly details?: readonly {
    readonly operationId: string;
    /** Undefined, or a promise of it, where that read would be 404. */
    readonly shown: (live: Live, asked: Asked, then: Moment) => unknown;
  }[];
  readonly list?: Omit<ListRead, 'shown' | 'keeps'> & {
    readonly shown: (live: Live) => Listed;
    readonly keeps: (shown: Listed, asked: Asked) => boolean;
  };
  readonly causes?: Omit<Causes, 'jobsAmong' | 'followed'> & {
    readonly jobsAmong?: (events: readonly RecordedEvent[], latest: Live) => readonly SeenJob[];
    readonly followed?: (live: Live) => readonly string[];
  };
}

/** Forgets the types of a kind's states: whoever has it folds the streams of its category with it and no others. */
export const auditedKind = <State, Live extends State, Event extends StorableEvent, Listed = unknown>({
  decider,
  live,
  audited,
  idOf,
  nameOf = () => undefined,
  streamsOf = () => [],
  place,
  details = [],
  list,
  causes: { jobsAmong, followed, ...causes } = {},
  bytesOf,
  ...names
}: KindDefinition<State, Live, Event, Listed>): AuditedKind => {
  const ofLive = <Result>(state: unknown, make: (live: Live) => Result): Result | undefined => {
    const there = live(state as State);
    return there === undefined ? undefined : make(there);
  };
  return {
    ...names,
    initialState: decider.initialState,
    evolve: (state, event) => decider.evolve(state as State, event as Event),
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
    details: details.map(({ operationId, shown }) => ({
      operationId,
      shown: (state, asked, then) => ofLive(state, (one) => shown(one, asked, then)),
    })),
    lists:
      list === undefined
        ? []
        : [
            {
              ...list,
              shown: (state) => ofLive(state, list.shown),
              keeps: (shown, asked) => list.keeps(shown as Listed, asked),
            },
          ],
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
