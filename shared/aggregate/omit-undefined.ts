type WithoutUndefined<T> = { readonly [M in keyof T as undefined extends T[M] ? never : M]: T[M] } & {
  readonly [M in keyof T as undefined extends T[M] ? M : never]?: Exclude<T[M], undefined>;
};

/** A stored object must equal the object read back. */
export const omitUndefined = <T extends object>(members: T): WithoutUndefined<T> =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as WithoutUndefined<T>;
