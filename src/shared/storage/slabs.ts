/** Node has it, its types do not. */
declare const WebAssembly: {
  readonly Memory: new (size: {
    readonly initial: number;
    readonly maximum: number;
    readonly shared: true;
  }) => { readonly buffer: SharedArrayBuffer };
};

/** Bytes of a slab. */
export const SLAB_BYTES = 128 * 1024;

/** Memory for what is on its way to a disk, in pieces of `SLAB_BYTES`, which threads share. */
export interface Slabs {
  /** What was in it before is still there. */
  take(): Buffer;
  /** To be called once for each that was taken, when nothing reads it any more. */
  give(slab: Buffer): void;
}

const SLABS_TOGETHER = 128;
const PAGE_OF_WEBASSEMBLY = 64 * 1024;

/** Slabs that were allocated together, and are let go together. */
interface Arena {
  readonly free: Buffer[];
}

/**
 * Slabs that begin where a page of memory does: a disk takes them as they are (`open(2)`, `O_DIRECT`). The memories of
 * WebAssembly do; no other memory that can be asked for here says where it begins. They are kept for the next who comes:
 * 16 MiB of them and what is in use, and what was in use before for as long as the garbage collector leaves it there.
 */
export const createSlabs = (): Slabs => {
  const arenas: Arena[] = [];
  let unused: readonly WeakRef<Arena>[] = [];
  const homes = new WeakMap<Buffer, Arena>();

  const makeArena = (): Arena => {
    const arena = { free: allocate() };
    for (const slab of arena.free) homes.set(slab, arena);
    return arena;
  };

  /** One that is still there before another: it is the same memory, for the system. */
  const anotherArena = (): Arena => {
    const [arena = makeArena(), ...others] = unused.flatMap((one) => one.deref() ?? []);
    unused = others.map((other) => new WeakRef(other));
    arenas.push(arena);
    return arena;
  };

  return {
    take: () => {
      const { free } = arenas.find((arena) => arena.free.length > 0) ?? anotherArena();
      return free.pop() as Buffer;
    },
    give: (slab) => {
      const arena = homes.get(slab) as Arena;
      arena.free.push(slab);
      if (arenas.filter(isUnused).length <= 1) return;
      arenas.splice(arenas.indexOf(arena), 1);
      unused = [...unused, new WeakRef(arena)];
    },
  };
};

const isUnused = ({ free }: Arena): boolean => free.length === SLABS_TOGETHER;

const allocate = (): Buffer[] => {
  const memory = pages(SLABS_TOGETHER * SLAB_BYTES);
  return Array.from({ length: SLABS_TOGETHER }, (_, n) => Buffer.from(memory, n * SLAB_BYTES, SLAB_BYTES));
};

const pages = (bytes: number): SharedArrayBuffer => {
  const all = bytes / PAGE_OF_WEBASSEMBLY;
  try {
    return new WebAssembly.Memory({ initial: all, maximum: all, shared: true }).buffer;
  } catch (error) {
    // It wants gigabytes of addresses, which a limit may keep from it.
    if (error instanceof RangeError) return new SharedArrayBuffer(bytes);
    throw error;
  }
};
