import { z } from 'zod';
import { check, sentenceOf } from '../../shared/http/problems.ts';
import { boundedText } from '../../shared/http/schemas.ts';
import { RefusedItem } from '../../shared/json/refused-item.ts';

const Key = boundedText(1, 256);

export type ReadItem<Item> =
  { readonly key: string; readonly item: Item } | { readonly key: string; readonly problem: string };

export interface NamelessItem {
  readonly key?: never;
  readonly problem: string;
}

const ITEMS_MAX = 50;

/**
 * Parses the items of a sync, 1 to 50. An invalid item with a valid id does not fail the others: it is returned with
 * its problem.
 * @param idMember the member that contains the id
 */
export const syncItems = <Shape extends z.core.$ZodLooseShape>(idMember: string, shape: Shape) => {
  const { Right, Broken } = formsOf(idMember, shape);
  return itemsOf(z.union([Right, Broken]));
};

/**
 * Also returns the problem of an item without a valid id, or one that the JSON reader refused (`Route.itemsMember`).
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
    }, 'must not name a resource twice');

const problemOf = (Item: z.ZodType, item: unknown): string => {
  const [first] = check(Item, item).problems ?? [];
  return first === undefined ? 'The item is not valid' : sentenceOf(first, 'The item');
};

export const AccountReference = z.object({
  account_id: z
    .union([z.string(), z.int().transform(String)])
    .meta({ description: 'The advertiser of the path.' }),
});

/** `json-ingress.ts` has checked that the values are JSON. Validating each again would block the event loop. */
export const freeMembers = () => z.record(z.string(), z.custom<z.core.util.JSONType>());

export const orDefault = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

export const listOrDefault = <Item extends z.ZodType>(item: Item, lengthMax = 100) =>
  z
    .array(item)
    .max(lengthMax)
    .overwrite((items) => [...new Set(items)])
    .nullish()
    .transform((items) => (items?.length === 0 ? undefined : (items ?? undefined)));
