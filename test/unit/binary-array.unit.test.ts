import { describe, expect, it } from '@jest/globals';
import { textArray, uuidArray } from '../../shared/postgres/binary-array.ts';
import { readArray } from '../faults/simulation/read-array.ts';

const UUID = '0123abcd-4567-89ef-0011-223344ff5566';

describe('array parameters in binary', () => {
  it.each([
    ['ASCII', 'a', 'x'.repeat(32), 'x'.repeat(33)],
    ['nothing', '', ''],
    ['beyond ASCII', 'Zürich', 'é', '€'.repeat(32), '€'.repeat(33), '😀', 'ab😀'],
  ])('text: %s', (...texts) => {
    expect(readArray(textArray(texts))).toEqual(texts);
  });

  it('UUIDs: upper and lower case', () => {
    const array = uuidArray([UUID, UUID.toUpperCase()]);
    const element = `00000010${UUID.replaceAll('-', '')}`;
    expect(array.subarray(20).toString('hex')).toBe(element + element);
  });

  it.each(['', 'x', UUID.slice(1), `${UUID}0`, UUID.replace('a', 'g'), UUID.replace('a', 'é'), `${UUID}€`])(
    'refuses %j as a UUID',
    (text) => {
      expect(() => uuidArray([text])).toThrow(RangeError);
    },
  );
});
