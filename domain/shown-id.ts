/** Ids as buyers see them: a prefix that says of what, and the 32 digits of a UUID. */
export interface ShownIds {
  /** @param id UUID */
  readonly shown: (id: string) => string;
  /** The UUID behind an id that was shown; undefined when the text is none. */
  readonly idOf: (shown: string) => string | undefined;
}

/** @param prefix e.g. `cmp_` */
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
