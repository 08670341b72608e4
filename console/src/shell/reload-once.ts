const KEY = 'exchange-reloaded-at';
const AGAIN_MS = 60_000;

/**
 * After a release, an old tab asks for files that are gone: loads the page again, once, which gets the new ones.
 * @throws the error, if that has just been tried
 */
export const reloadOnce = (error: unknown): Promise<never> => {
  if (Date.now() - Number(sessionStorage.getItem(KEY)) < AGAIN_MS) throw error;
  sessionStorage.setItem(KEY, String(Date.now()));
  location.reload();
  // The page ends before this does.
  return new Promise(() => undefined);
};
