import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { forEndpoint, isUsable, seedsOf } from '../../shared/event-store/eventstoredb/connection-string.ts';
import { createTroubleLog } from '../../shared/event-store/eventstoredb/trouble-log.ts';

describe('the nodes that a connection string names', () => {
  it.each([
    ['esdb://one', [['one', 2113]], false],
    ['esdb://one:1113?tls=false', [['one', 1113]], false],
    ['esdb+discover://cluster.example:2114/?tls=true', [['cluster.example', 2114]], true],
    [
      'esdb://user:secret@one:1,two,three:3?tls=false',
      [
        ['one', 1],
        ['two', 2113],
        ['three', 3],
      ],
      true,
    ],
  ] as const)('%s', (connectionString, seeds, isCluster) => {
    expect(seedsOf(connectionString)).toEqual({
      seeds: seeds.map(([address, port]) => ({ address, port })),
      isCluster,
    });
  });

  it('can be reduced to one node, with the same user and options', () => {
    const three = { address: 'three', port: 3 };
    expect(forEndpoint('esdb+discover://user:secret@one:1?tls=false&connectionName=x', three)).toBe(
      'esdb://user:secret@three:3?tls=false&connectionName=x',
    );
    expect(forEndpoint('esdb://one:1,two/', three)).toBe('esdb://three:3');
  });
});

describe('an address that a node names', () => {
  it.each([
    ['node-1.example', 2113, true],
    ['10.0.0.7', 1, true],
    ['::1', 2113, false],
    ['host?tls=false', 2113, false],
    ['user@host', 2113, false],
    ['a,b', 2113, false],
    ['', 2113, false],
    ['host', 0, false],
    ['host', 65_536, false],
  ])('%s, port %i: %s', (address, port, expected) => {
    expect(isUsable({ address, port })).toBe(expected);
  });
});

describe('a connection problem', () => {
  const MINUTE_MS = 60_000;
  /** @param causes each with its time in ms; undefined ends the problem @returns log messages with their times */
  const logged = (
    causes: readonly (readonly [number, string | undefined])[],
  ): readonly (readonly [number, string])[] => {
    let now = 0;
    const lines: (readonly [number, string])[] = [];
    const write = (line: string): void => void lines.push([now, (JSON.parse(line) as { msg: string }).msg]);
    const trouble = createTroubleLog(pino({}, { write }), 'It', () => now);
    for (const [ms, cause] of causes) {
      now = ms;
      trouble.report(cause);
      expect(trouble.current).toBe(cause);
    }
    return lines;
  };

  it('is logged once when it begins and once when it ends', () => {
    const seen = Array.from({ length: 100 }, (_, n) => [n * 100, 'no leader'] as const);
    expect(logged([...seen, [10_000, undefined], [10_001, undefined]])).toEqual([
      [0, 'It cannot be used: no leader'],
      [10_000, 'It can be used again'],
    ]);
  });

  it('is logged once a minute while it lasts', () => {
    const seen = Array.from({ length: 150 }, (_, n) => [n * 1_000, 'no leader'] as const);
    expect(logged(seen).map(([ms]) => ms)).toEqual([0, MINUTE_MS, 2 * MINUTE_MS]);
  });

  it('is logged when its cause changes', () => {
    expect(
      logged([
        [0, 'not reached'],
        [500, 'no leader'],
        [900, undefined],
      ]).map(([ms]) => ms),
    ).toEqual([0, 500, 900]);
  });

  it('with alternating causes is logged at most once a minute for each cause', () => {
    const flapping = Array.from({ length: 300 }, (_, n) => {
      const causes = ['not reached', undefined, 'no leader', undefined];
      return [n * 100, causes[n % causes.length]] as const;
    });
    expect(logged(flapping).map(([, text]) => text)).toEqual([
      'It cannot be used: not reached',
      'It can be used again',
      'It cannot be used: no leader',
      'It can be used again',
    ]);
  });
});
