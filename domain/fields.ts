import type { z } from 'zod';
import { equalJson } from './equal-json.ts';

/** Lists each member once: the schemas of the resource, its events and its requests follow, in this order. */

/**
 * The source of a member and how it can change:
 * - `derived`: from events; only the resource shows it
 * - `found`: derived from the request where possible; may be replaced
 * - `fixed`: the buyer sets it at the creation
 * - `changeable`: the buyer sets it at the creation and may replace it
 * - `clearable`: the buyer may set it, replace it, and clear it with null
 */
type Use = 'derived' | 'found' | 'fixed' | 'changeable' | 'clearable';

interface Field {
  readonly use: Use;
  readonly shown: z.ZodType;
  readonly recorded: z.ZodType;
  /** The default. Undefined: the buyer must send the member, unless it is optional. */
  readonly initial: unknown;
}
type Fields = Readonly<Record<string, Field>>;

const field = <U extends Use, S extends z.ZodType, R extends z.ZodType, I>(
  use: U,
  shown: S,
  recorded: R,
  initial: I,
) => ({ use, shown, recorded, initial });

export const derived = <S extends z.ZodType>(shown: S) => field('derived', shown, shown, undefined);
export const clearable = <S extends z.ZodType>(shown: S) => field('clearable', shown, shown, undefined);
/** @param recorded the form in events, if it differs */
export const found = <S extends z.ZodType, R extends z.ZodType = S>(shown: S, recorded?: R) =>
  field('found', shown, (recorded ?? shown) as R, undefined);
export const fixed = <S extends z.ZodType, R extends z.ZodType = S, I = undefined>(
  shown: S,
  { recorded, initial }: { readonly recorded?: R; readonly initial?: I } = {},
) => field('fixed', shown, (recorded ?? shown) as R, initial as I);
export const changeable = <
  S extends z.ZodType,
  I extends z.output<S> | undefined = undefined,
  R extends z.ZodType = S,
>(
  shown: S,
  initial?: I,
  recorded?: R,
) => field('changeable', shown, (recorded ?? shown) as R, initial as I);

type OptionalUse = 'found' | 'clearable';
type RecordedUse = Exclude<Use, 'derived'>;
type InputUse = Exclude<RecordedUse, 'found'>;
type ReplaceableUse = 'found' | 'changeable' | 'clearable';
const mayBeMissing: ReadonlySet<Use> = new Set(['found', 'clearable']);
const recordedUses: ReadonlySet<Use> = new Set(['found', 'fixed', 'changeable', 'clearable']);
const inputUses: ReadonlySet<Use> = new Set(['fixed', 'changeable', 'clearable']);
const replaceableUses: ReadonlySet<Use> = new Set(['found', 'changeable', 'clearable']);

type MemberOf<F extends Fields, U extends Use> = {
  [M in keyof F]: F[M]['use'] extends U ? M : never;
}[keyof F];
type Unless<Missing, Schema extends z.ZodType> = Missing extends true ? z.ZodOptional<Schema> : Schema;
type IsOptional<One extends Field> = One['use'] extends OptionalUse ? true : false;
type Clearable<One extends Field, Schema extends z.ZodType> = z.ZodOptional<
  One['use'] extends 'clearable' ? z.ZodNullable<Schema> : Schema
>;
/** Request schemas of members, where they differ from the recorded form. */
type Inputs<F extends Fields> = { readonly [M in MemberOf<F, InputUse>]?: z.ZodType };
type InputOf<F extends Fields, I, M extends keyof F> = M extends keyof I
  ? Extract<I[M], z.ZodType>
  : F[M]['recorded'];

const shapeOf = (
  fields: Fields,
  uses: ReadonlySet<Use> | undefined,
  schemaOf: (one: Field, member: string) => z.ZodType,
): z.ZodRawShape =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([member, one]) =>
      uses?.has(one.use) === false ? [] : [[member, schemaOf(one, member)]],
    ),
  );

export const resourceShape = <F extends Fields>(fields: F) =>
  shapeOf(fields, undefined, ({ use, shown }) => (mayBeMissing.has(use) ? shown.optional() : shown)) as {
    [M in keyof F]: Unless<IsOptional<F[M]>, F[M]['shown']>;
  };

export const createdShape = <F extends Fields>(fields: F) =>
  shapeOf(fields, recordedUses, ({ use, recorded }) =>
    mayBeMissing.has(use) ? recorded.optional() : recorded,
  ) as { [M in MemberOf<F, RecordedUse>]: Unless<IsOptional<F[M]>, F[M]['recorded']> };

/** Only changed members; null clears one. */
export const changesShape = <F extends Fields>(fields: F) =>
  shapeOf(fields, replaceableUses, ({ use, recorded }) =>
    (use === 'clearable' ? recorded.nullable() : recorded).optional(),
  ) as { [M in MemberOf<F, ReplaceableUse>]: Clearable<F[M], F[M]['recorded']> };

export const createInput = <F extends Fields, I extends Inputs<F>>(fields: F, inputs: I) =>
  shapeOf(fields, inputUses, ({ use, recorded, initial }, member) => {
    const input = (inputs as Readonly<Record<string, z.ZodType>>)[member] ?? recorded;
    return use === 'clearable' || initial !== undefined ? input.optional() : input;
  }) as {
    [M in MemberOf<F, InputUse>]: Unless<
      F[M]['use'] extends 'clearable' ? true : F[M]['initial'] extends undefined ? false : true,
      InputOf<F, I, M>
    >;
  };

/** Replaces all that the buyer set; absent members have their defaults. */
export const definitionShape = <F extends Fields>(fields: F) => createInput(fields, {});

/** Absent members stay unchanged. */
export const updateInput = <F extends Fields, I extends Inputs<F>>(fields: F, inputs: I) =>
  shapeOf(fields, new Set<Use>(['changeable', 'clearable']), ({ use, recorded }, member) => {
    const input = (inputs as Readonly<Record<string, z.ZodType>>)[member] ?? recorded;
    return use === 'clearable'
      ? input.nullable().optional().meta({ description: 'null clears it.' })
      : input.optional();
  }) as { [M in MemberOf<F, 'changeable' | 'clearable'>]: Clearable<F[M], InputOf<F, I, M>> };

/** An update may repeat these members but not change them. */
export const repeatedInput = <F extends Fields, M extends keyof F & string>(
  fields: F,
  members: readonly M[],
) =>
  Object.fromEntries(
    members.map((member) => [
      member,
      (fields[member] as Field).recorded.optional().meta({ description: 'Must be the current value.' }),
    ]),
  ) as { [Member in M]: z.ZodOptional<F[Member]['recorded']> };

export const initialMembers = <F extends Fields>(fields: F) =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([member, { initial }]) =>
      initial === undefined ? [] : [[member, initial]],
    ),
  ) as { [M in keyof F as F[M]['initial'] extends undefined ? never : M]: z.output<F[M]['recorded']> };

/** In the schema's order. Null and undefined leave a member out. */
export const membersOf = <Schema extends z.ZodObject>(
  { shape }: Schema,
  members: { readonly [M in keyof z.output<Schema>]: z.output<Schema>[M] | null | undefined },
): z.output<Schema> => {
  const given = members as Readonly<Record<string, unknown>>;
  const present: Record<string, unknown> = {};
  for (const member in shape) {
    const value = given[member];
    if (value !== undefined && value !== null) present[member] = value;
  }
  return present as z.output<Schema>;
};

type ChangeRequest<Resource> = { readonly [M in keyof Resource]?: Resource[M] | null | undefined };

/** Null clears a member, undefined leaves it. */
export const changedMembers = <Changes extends ChangeRequest<Current>, Current extends object>(
  wanted: Changes,
  current: Current,
): Changes =>
  Object.fromEntries(
    Object.entries(wanted).filter(
      ([member, value]) =>
        value !== undefined && !equalJson(value ?? undefined, current[member as keyof Current]),
    ),
  ) as Changes;

export const withChanges = <State extends object>(state: State, changes: ChangeRequest<State>): State => ({
  ...state,
  ...Object.fromEntries(Object.entries(changes).map(([member, value]) => [member, value ?? undefined])),
});

/** The first member repeated with another value than the current one. */
export const contradiction = <Repeated extends object>(
  repeated: Repeated,
  current: Readonly<Record<keyof Repeated, unknown>>,
): keyof Repeated | undefined =>
  (Object.keys(repeated) as (keyof Repeated)[]).find(
    (member) => repeated[member] !== undefined && repeated[member] !== current[member],
  );
