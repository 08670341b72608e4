import { z } from 'zod';
import { check, sentenceOf } from '../../shared/http/problems.ts';
import { boundedText } from '../../shared/http/schemas.ts';
import { RefusedItem } from '../../shared/json/refused-item.ts';

/** The buyer's own id of a thing. */
const Key = boundedText(1, 256);

/** An item of a sync as it was read: it is right, or it names its thing and is wrong otherwise. */
export type ReadItem<Item> =
  { readonly key: string; readonly item: Item } | { readonly key: string; readonly problem: string };

/** An item of a sync that does not name its thing. */
export interface NamelessItem {
  readonly key?: never;
  readonly problem: string;
}

const ITEMS_MAX = 50;

/**
 * The items of a sync, 1 to 50. An item that names its thing and is wrong otherwise does not spoil the others: it is
 * read as its problem.
 * @param idMember the member that names the thing
 */
export const syncItems = <Shape extends z.core.$ZodLooseShape>(idMember: string, shape: Shape) => {
  const { Right, Broken } = formsOf(idMember, shape);
  return itemsOf(z.union([Right, Broken]));
};

/**
 * As `syncItems`; an item that does not even name its thing, or that the JSON reader refused (`Route.itemsMember`), is
 * read as its problem, too.
 */
export const syncItemsOrNameless = <Shape extends z.core.$ZodLooseShape>(idMember: string, shape: Shape) => {
  const { Right, Broken, Item } = formsOf(idMember, shape);
  const Nameless = z
    .unknown()
    .meta({ description: 'Anything else fails, and the other items are done.' })
    .transform((item): NamelessItem => ({
      problem: item instanceof RefusedItem ? `The item must not hold ${item.fault}` : problemOf(Item, item),
    }));
  return itemsOf(z.union([Right, Broken, Nameless]));
};

const formsOf = <Shape extends z.core.$ZodLooseShape>(idMember: string, shape: Shape) => {
  const Item = z.object({ ...shape, [idMember]: Key });
  const Right = Item.transform((item): ReadItem<z.output<z.ZodObject<Shape>>> => ({
    key: String(Reflect.get(item, idMember)),
    item: item as z.output<z.ZodObject<Shape>>,
  }));
  const Broken = z
    .looseObject({ [idMember]: Key })
    .transform((item): ReadItem<z.output<z.ZodObject<Shape>>> => ({
      key: String(item[idMember]),
      problem: problemOf(Item, item),
    }));
  return { Right, Broken, Item };
};

const itemsOf = <Item extends z.ZodType<{ readonly key?: string | undefined }>>(item: Item) =>
  z
    .array(item)
    .min(1)
    .max(ITEMS_MAX)
    .refine((items) => {
      const keys = items.flatMap(({ key }) => key ?? []);
      return new Set(keys).size === keys.length;
    }, 'must not name one thing twice');

const problemOf = (Item: z.ZodType, item: unknown): string => {
  const [first] = check(Item, item).problems ?? [];
  return first === undefined ? 'The item is not valid' : sentenceOf(first, 'The item');
};

export const AccountReference = z.object({
  account_id: z
    .union([z.string(), z.int().transform(String)])
    .meta({ description: 'The advertiser of the path.' }),
});

/**
 * Members of any name and kind. They are JSON already, or they would not have come in (`json-ingress.ts`): each value is
 * not looked at again, which costs time that everybody waits for.
 */
export const freeMembers = () => z.record(z.string(), z.custom<z.core.util.JSONType>());

/** Absent and null both say that the member is at its default. */
export const orDefault = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

/** The same for a list without repetitions; an empty one is at its default, too. */
export const listOrDefault = <Item extends z.ZodType>(item: Item, lengthMax = 100) =>
  z
    .array(item)
    .max(lengthMax)
    .overwrite((items) => [...new Set(items)])
    .nullish()
    .transform((items) => (items?.length === 0 ? undefined : (items ?? undefined)));
