/**
 * Where a person goes on after the sign-in. Only paths of this origin, and only pages: another site must not choose where
 * a person arrives.
 * @returns undefined if the address names none that is allowed
 */
export const nextPage = (): string | undefined => {
  const next = new URLSearchParams(location.search).get('next') ?? '';
  if (!next.startsWith('/') || !URL.canParse(next, location.origin)) return undefined;
  const url = new URL(next, location.origin);
  const isOwn = url.origin === location.origin && /^\/(?:console|authorize)\//.test(url.pathname);
  return isOwn ? url.pathname + url.search : undefined;
};

/** A page of the sign-in that leads to the same place in the end. */
export const keepingNext = (path: string): string => {
  const next = nextPage();
  return next === undefined ? path : `${path}?next=${encodeURIComponent(next)}`;
};
