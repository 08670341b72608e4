import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { personalParts } from '../../domain/personal-data/split-personal-data.ts';
import { nodeOf, punctured, seedAt, type KeyTree } from '../../shared/personal-data/key-tree.ts';
import {
  BrokenSealError,
  openItems,
  placeOfItem,
  sealItems,
  type KeySet,
} from '../../shared/personal-data/sealed-items.ts';

const root = nodeOf(Buffer.from(Array.from({ length: 512 }, (_, n) => (n * 7) % 251)));
const newKeys = (tree: KeyTree = new Map([['', root]])): KeySet => ({
  id: randomUUID(),
  whole: Buffer.alloc(32, 7),
  tree,
});

describe('a tree of keys', () => {
  const places = ['00', '01', '0f', '10', 'ff'].map((place) => `abc${place}`);
  const seeds = (tree: KeyTree): readonly (string | undefined)[] =>
    places.map((place) => seedAt(tree, place)?.toString('hex'));
  const whole: KeyTree = new Map([['', root]]);

  it('loses exactly the punctured keys, in any order', () => {
    const before = seeds(whole);
    expect(new Set(before).size).toBe(places.length);
    const once = new Map([...whole, ...punctured(whole, ['abc01'])]);
    expect(seeds(once)).toEqual(before.map((seed, n) => (n === 1 ? undefined : seed)));
    const twice = new Map([...once, ...punctured(once, ['abcff', 'abc01'])]);
    expect(seeds(twice)).toEqual(before.map((seed, n) => (n === 1 || n === 4 ? undefined : seed)));
    const together = new Map([...whole, ...punctured(whole, ['abcff', 'abc01'])]);
    expect(together).toEqual(twice);
  });

  it('keeps no seed from which a punctured key can be derived', () => {
    const tree = new Map([...whole, ...punctured(whole, ['abc01'])]);
    for (let depth = 1; depth <= 5; depth += 1) expect(seedAt(tree, 'abc01'.slice(0, depth))).toBeUndefined();
    expect([...punctured(tree, ['abc01'])]).toEqual([]);
  });
});

describe('encrypted items', () => {
  const texts = Array.from({ length: 300 }, (_, n) => `person ${n} ${'é'.repeat(n % 5)}`);

  it('are decrypted one by one, without those whose keys are erased', () => {
    const [keys, event] = [newKeys(), randomUUID()];
    const sealed = sealItems(keys, event, texts);
    expect(openItems(keys, event, sealed)).toEqual(texts);
    const gone = [0, 17, 299];
    const places = gone.map((item) => placeOfItem(event, item));
    const left = newKeys(new Map([...keys.tree, ...punctured(keys.tree, places)]));
    expect(openItems(left, event, sealed)).toEqual(
      texts.map((text, n) => (gone.includes(n) ? undefined : text)),
    );
    // Other items can still be encrypted and decrypted.
    const other = randomUUID();
    expect(openItems(left, other, sealItems(left, other, texts))).toEqual(texts);
  });

  it('cannot be decrypted with other keys or in another event', () => {
    const [keys, event] = [newKeys(), randomUUID()];
    const sealed = sealItems(keys, event, texts);
    expect(() => openItems({ ...keys, whole: Buffer.alloc(32, 8) }, event, sealed)).toThrow(BrokenSealError);
    expect(() => openItems(keys, randomUUID(), sealed)).toThrow(BrokenSealError);
    expect(sealed).not.toBe(sealItems(keys, event, texts));
  });
});

describe('personal parts', () => {
  const { AudienceMembersStored: members, ConversionsLogged: matches } = personalParts;

  it('include every member', () => {
    const uids = [
      ['maid', 'u-1'],
      ['uid2', 'u-2'],
    ];
    const data = { part: 0, add: [['a', 'mail', null, uids]], remove: ['b'] };
    const { rest, parts } = members?.split(data) ?? { rest: {}, parts: [] };
    expect(rest).toEqual({ part: 0 });
    expect(members?.join(rest, parts)).toEqual(data);
    expect(members?.join(rest, parts.slice(1))).toEqual({ part: 0, add: [], remove: ['b'] });
    expect(parts.map((part) => members?.identifiers(part))).toEqual([['a', 'mail', 'u-1', 'u-2'], ['b']]);
  });

  it('of conversions include the identifiers and the members that may identify a person', () => {
    const userMatch = { hashedEmail: 'mail', uids: [{ type: 'x', value: 'u-1' }], clickId: 'c' };
    const more = [
      [0, { actionSource: 'app' }],
      [1, { userMatch, orderId: 'o-1', actionSource: 'app' }],
      [3, { userMatch: { hashedPhone: 'phone' } }],
    ];
    const data = { eventIds: ['a'], more };
    const { rest, parts } = matches?.split(data) ?? { rest: {}, parts: [] };
    expect(rest).toEqual({
      eventIds: ['a'],
      more: [
        [0, { actionSource: 'app' }],
        [1, { actionSource: 'app' }],
      ],
    });
    expect(parts.map((part) => matches?.identifiers(part))).toEqual([['mail', 'c', 'u-1'], ['phone']]);
    expect(matches?.join(rest, parts)).toEqual(data);
    expect(matches?.split({ eventIds: ['a'] })).toEqual({ rest: { eventIds: ['a'] }, parts: [] });
  });
});
