/** Drops members that are there but undefined: what is stored must not differ from what is read back. */
export const defined = <T extends object>(members: T): T =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
