/** Finds names almost like a setting's. If that setting is set as well, the name is another program's. */
export const misspeltSettings = (
  given: readonly string[],
  settings: readonly string[],
): readonly (readonly [name: string, setting: string])[] => {
  const known = new Set(settings);
  const names = new Set(given);
  const isFree = (setting: string): boolean => setting.length >= LENGTH_MIN && !names.has(setting);
  return given.flatMap((name) => {
    if (known.has(name) || name.length < LENGTH_MIN - 1) return [];
    const setting = settings.find((one) => isFree(one) && isMisspelt(name.toUpperCase(), one));
    return setting === undefined ? [] : [[name, setting] as const];
  });
};

/** Shorter names, such as PORT, are too close to names that other programs read. */
const LENGTH_MIN = 8;

/** True if the names are equal, or differ by one extra, missing, wrong or swapped letter. */
const isMisspelt = (name: string, setting: string): boolean => {
  let start = 0;
  while (start < name.length && name[start] === setting[start]) start += 1;
  const [rest, expected] = [name.slice(start), setting.slice(start)];
  return (
    rest.slice(1) === expected ||
    rest === expected.slice(1) ||
    rest.slice(1) === expected.slice(1) ||
    (rest.slice(2) === expected.slice(2) && rest[0] === expected[1] && rest[1] === expected[0])
  );
};
