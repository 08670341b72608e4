import { z } from 'zod';
import { boundedText, listOf } from '../values.ts';

/** Absent and null members have their defaults. */

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;
type CamelMembers<T> = {
  readonly [M in keyof T as undefined extends T[M] ? never : Camel<M & string>]: T[M];
} & {
  readonly [M in keyof T as undefined extends T[M] ? Camel<M & string> : never]?: Exclude<T[M], undefined>;
};

/** From AdCP's snake_case. Omits undefined members. */
const camelMembers = <T extends object>(item: T): CamelMembers<T> =>
  Object.fromEntries(
    Object.entries(item).flatMap(([name, value]) =>
      value === undefined
        ? []
        : [[name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), value]],
    ),
  ) as CamelMembers<T>;

export interface ValidItem<Item> {
  readonly key: string;
  readonly item: Item;
}

export interface InvalidItem<Key = string> {
  readonly key: Key;
  readonly sent: unknown;
  readonly schema: z.ZodType;
}

const Key = boundedText(1, 256);
const ITEMS_MAX = 50;

export const syncItems = <Shape extends z.core.$ZodLooseShape>(idMember: string, shape: Shape) => {
  const [Valid, Invalid] = formsOf(idMember, shape);
  return itemsOf(z.union([Valid, Invalid]));
};

/** Also accepts items without a valid id, and items that the JSON reader refused (`Route.itemsMember`). */
export const syncItemsOrNameless = <Shape extends z.core.$ZodLooseShape>(idMember: string, shape: Shape) => {
  const [Valid, Invalid, schema] = formsOf(idMember, shape);
  const Nameless = z
    .unknown()
    .meta({ description: 'Anything else fails, and the other items are done.' })
    .transform((sent): InvalidItem<undefined> => ({ key: undefined, sent, schema }));
  return itemsOf(z.union([Valid, Invalid, Nameless]));
};

const formsOf = <Shape extends z.core.$ZodLooseShape>(idMember: string, shape: Shape) => {
  type Item = CamelMembers<z.output<z.ZodObject<Shape>>>;
  const schema = z.object({ ...shape, [idMember]: Key });
  const Valid = schema.transform((sent: Readonly<Record<string, unknown>>): ValidItem<Item> => {
    const { [idMember]: key, ...item } = sent;
    return { key: String(key), item: camelMembers(item) as Item };
  });
  const Invalid = z
    .looseObject({ [idMember]: Key })
    .transform((sent): InvalidItem => ({ key: String(sent[idMember]), sent, schema }));
  return [Valid, Invalid, schema] as const;
};

const itemsOf = <Item extends z.ZodType<{ readonly key: string | undefined }>>(item: Item) =>
  z
    .array(item)
    .min(1)
    .max(ITEMS_MAX)
    .refine((items) => {
      const keys = items.flatMap(({ key }) => key ?? []);
      return new Set(keys).size === keys.length;
    }, 'must not name a resource twice');

export const AccountReference = z.object({
  account_id: z
    .union([z.string(), z.int().transform(String)])
    .meta({ description: 'The advertiser of the path.' }),
});

/** Request bodies are parsed JSON: a second check of the values would only block the event loop. */
export const freeMembers = () => z.record(z.string(), z.custom<z.core.util.JSONType>());

export const orDefault = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

/** An empty list has the default, too. */
export const listOrDefault = <Item extends z.ZodType>(item: Item) =>
  listOf(item, 100)
    .nullish()
    .transform((items) => (items?.length === 0 ? undefined : (items ?? undefined)));
