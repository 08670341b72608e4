/** Immutable: a copy shares all but three short lists. Adding is as fast with 10,000 entries as with 10. */
export type SharedMap<Value> = readonly (readonly Bucket<Value>[])[];
type Bucket<Value> = readonly (readonly [key: string, value: Value])[];

const WIDTH = 32;

export const emptyMap: SharedMap<never> = [];

export const valueOf = <Value>(map: SharedMap<Value>, key: string): Value | undefined => {
  const [row, place] = placeOf(key);
  return map[row]?.[place]?.find(([one]) => one === key)?.[1];
};

export const entriesOf = <Value>(map: SharedMap<Value>): Bucket<Value> => map.flat(2);

export const withValue = <Value>(map: SharedMap<Value>, key: string, value: Value): SharedMap<Value> =>
  withEntries(map, key, [[key, value]]);

export const withoutKey = <Value>(map: SharedMap<Value>, key: string): SharedMap<Value> =>
  withEntries(map, key, []);

const withEntries = <Value>(map: SharedMap<Value>, key: string, entries: Bucket<Value>): SharedMap<Value> => {
  const [row, place] = placeOf(key);
  const buckets = map[row] ?? [];
  const others = (buckets[place] ?? []).filter(([one]) => one !== key);
  return withAt(map, row, withAt(buckets, place, [...others, ...entries]));
};

const withAt = <Item>(
  lists: readonly (readonly Item[])[],
  at: number,
  item: readonly Item[],
): readonly (readonly Item[])[] =>
  Array.from({ length: Math.max(lists.length, at + 1) }, (_, n) => (n === at ? item : (lists[n] ?? [])));

/** Uses a hash (FNV-1a), because ids often share a prefix or a suffix. */
const placeOf = (key: string): readonly [row: number, place: number] => {
  let hash = 2_166_136_261;
  for (let n = 0; n < key.length; n += 1) hash = Math.imul(hash ^ key.charCodeAt(n), 16_777_619);
  const mixed = (hash ^ (hash >>> 15)) >>> 0;
  return [Math.floor(mixed / WIDTH) % WIDTH, mixed % WIDTH];
};
