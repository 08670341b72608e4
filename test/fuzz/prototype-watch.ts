const watched: Readonly<Record<string, object>> = {
  Object: Object.prototype,
  Array: Array.prototype,
  Function: Function.prototype,
  String: String.prototype,
  Number: Number.prototype,
  Boolean: Boolean.prototype,
  Map: Map.prototype,
  Error: Error.prototype,
  Promise: Promise.prototype,
};

/**
 * Watches the prototypes of this process.
 * @returns a function that lists changes since its last call and removes added members, so that each request is judged
 * alone
 */
export const watchPrototypes = (): (() => readonly string[]) => {
  const before = Object.entries(watched).map(
    ([name, prototype]) => [name, prototype, Object.getOwnPropertyDescriptors(prototype)] as const,
  );
  return () =>
    before.flatMap(([name, prototype, known]) => {
      const descriptors = new Map<string, PropertyDescriptor>(Object.entries(known));
      return Object.getOwnPropertyNames(prototype).flatMap((member) => {
        const was = descriptors.get(member);
        const is = Object.getOwnPropertyDescriptor(prototype, member);
        if (was !== undefined && is?.value === was.value && is?.get === was.get) return [];
        if (was === undefined) Reflect.deleteProperty(prototype, member);
        else Object.defineProperty(prototype, member, was);
        return [`${name}.prototype.${member}`];
      });
    });
};
