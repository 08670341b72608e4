const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** The order counts in arrays, not among an object's members. */
export const equalJson = (a: unknown, b: unknown): boolean => {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => equalJson(item, b[index]))
    );
  }
  if (!isObject(a) || !isObject(b)) return false;
  const members = Object.keys(a);
  return (
    members.length === Object.keys(b).length &&
    members.every((member) => Object.hasOwn(b, member) && equalJson(a[member], b[member]))
  );
};
