/** Ids that buyers see: a prefix for the type, and the UUID's 32 digits. */
export interface ShownIds {
  readonly shown: (id: string) => string;
  /** @returns undefined if the text is not such an id */
  readonly idOf: (shown: string) => string | undefined;
}

export const shownIds = (prefix: string): ShownIds => ({
  shown: (id) => prefix + id.replaceAll('-', ''),
  idOf: (text) => {
    if (!text.startsWith(prefix)) return undefined;
    const [, ...parts] =
      /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(
        text.slice(prefix.length),
      ) ?? [];
    return parts.length === 0 ? undefined : parts.join('-');
  },
});
