type Defined<T> = { readonly [M in keyof T as undefined extends T[M] ? never : M]: T[M] } & {
  readonly [M in keyof T as undefined extends T[M] ? M : never]?: Exclude<T[M], undefined>;
};

/** Drops members that are there but undefined: what is stored must not differ from what is read back. */
export const omitUndefined = <T extends object>(members: T): Defined<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<T>;
