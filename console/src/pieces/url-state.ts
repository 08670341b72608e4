import { useNavigate, useSearch } from '@tanstack/react-router';

export type UrlState = Readonly<Record<string, string | undefined>>;

/** The state of a page is its address: it can be shared, and the browser's back button works. */
export const useUrlState = (): readonly [
  UrlState,
  (changes: UrlState, how?: { readonly replace?: boolean }) => void,
] => {
  const search: UrlState = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = (changes: UrlState, { replace = false } = {}): void => {
    const next = { ...search, ...changes };
    const present = Object.fromEntries(
      Object.entries(next).filter(([, value]) => value !== undefined && value !== ''),
    );
    void navigate({ to: '.', search: present, replace, resetScroll: false });
  };
  return [search, change];
};
