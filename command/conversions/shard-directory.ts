import { copyShard, createShard, placeIn, shardBytes, type Shard } from './fingerprint-shard.ts';

/**
 * Extendible hashing: the high hash bits select a shard. A full shard doubles or splits, so growth takes 1 to
 * 2 ms and never copies the whole table. Fill limits differ, so that shards do not all grow at once.
 */
export interface ShardDirectory {
  readonly count: number;
  readonly bytes: number;
  shardOf(spot: number): Shard;
  put(shard: Shard, place: number, key: Uint32Array, at: number, day: number, spot: number): void;
  sweep(): Generator<void>;
}

const PLACES_MIN = 256;
const PLACES_MAX = 65_536;
const DEPTH_MAX = 20;

/** Maximum fill of a shard: 0.60 to 0.75 of its slots, depending on its place in the directory. */
const limitOf = ({ mask, depth }: Shard, prefix: number): number => {
  const spread = ((prefix * 0x9e3779b1 + depth) >>> 28) / 100;
  return Math.floor((mask + 1) * (0.6 + spread));
};

interface State {
  depth: number;
  shards: Shard[];
  count: number;
  bytes: number;
}

/** @param isWanted receives the day modulo 256. Growth and `sweep` drop unwanted fingerprints. */
export const createShardDirectory = (isWanted: (day: number) => boolean): ShardDirectory => {
  const first = createShard(0, PLACES_MIN);
  const state: State = { depth: 0, shards: [first], count: 0, bytes: shardBytes(first) };

  const indexOf = (spot: number): number => (state.depth === 0 ? 0 : spot >>> (32 - state.depth));
  const wantedIn =
    ({ days }: Shard) =>
    (place: number): boolean =>
      isWanted(days[place] as number);

  const grow = (index: number): void => {
    const old = state.shards[index] as Shard;
    const places = old.mask + 1;
    if (places < PLACES_MAX || old.depth === DEPTH_MAX) return rebuild(index, places * 2);
    if (old.depth === state.depth) {
      state.shards = state.shards.flatMap((shard) => [shard, shard]);
      state.depth += 1;
      return grow(index * 2);
    }
    const [left, right] = [createShard(old.depth + 1, places), createShard(old.depth + 1, places)];
    const bit = 31 - old.depth;
    copyShard(old, wantedIn(old), (spot) => (((spot >>> bit) & 1) === 0 ? left : right));
    const [from, to] = rangeOf(state, index);
    const middle = from + (to - from + 1) / 2;
    replace(state, from, middle - 1, left);
    replace(state, middle, to, right);
    account(state, old, [left, right]);
  };

  const rebuild = (index: number, places: number): void => {
    const old = state.shards[index] as Shard;
    const next = createShard(old.depth, places);
    copyShard(old, wantedIn(old), () => next);
    replace(state, ...rangeOf(state, index), next);
    account(state, old, [next]);
  };

  return {
    get count() {
      return state.count;
    },
    get bytes() {
      return state.bytes;
    },
    shardOf: (spot) => state.shards[indexOf(spot)] as Shard,
    put: (shard, place, key, at, day, spot) => {
      placeIn(shard, place, key, at, day);
      state.count += 1;
      const index = indexOf(spot);
      if (shard.count >= limitOf(shard, index >>> (state.depth - shard.depth))) grow(index);
    },
    sweep: function* () {
      for (let index = 0; index < state.shards.length;) {
        const shard = state.shards[index] as Shard;
        const isUnwanted = (day: number, place: number): boolean =>
          !isWanted(day) && shard.words[place * 4 + 1] !== 0;
        if (shard.days.some(isUnwanted)) rebuild(index, shard.mask + 1);
        // The directory may double between two steps. A second look at the shard is harmless.
        index = rangeOf(state, index)[1] + 1;
        yield;
      }
    },
  };
};

const rangeOf = ({ depth, shards }: State, index: number): readonly [first: number, last: number] => {
  const span = 2 ** (depth - (shards[index] as Shard).depth);
  const first = Math.floor(index / span) * span;
  return [first, first + span - 1];
};

const replace = ({ shards }: State, first: number, last: number, shard: Shard): void => {
  for (let index = first; index <= last; index += 1) shards[index] = shard;
};

const account = (state: State, old: Shard, next: readonly Shard[]): void => {
  state.bytes -= shardBytes(old);
  state.count -= old.count;
  for (const shard of next) {
    state.bytes += shardBytes(shard);
    state.count += shard.count;
  }
};
