import { parseCookie } from 'cookie';

/** Set by the library: lets this browser, and no other, finish the authorization. */
export const RESUME_COOKIE = '__Secure-sc_resume';

/** Interactions that this browser has started. */
const STARTED_COOKIE = '__Host-sc_consent';
const STARTED_MAX = 8;

/** Set by the library, but not used here. */
export const UNUSED_COOKIES = ['__Host-sc_oauth', '__Host-sc_interaction'] as const;

/**
 * Consent is accepted only from the browser that started the authorization. Otherwise an attacker could start
 * one, send its address to a user, and receive the code after the user's consent.
 */
export const hasStarted = (cookieHeader: string | undefined, uid: string): boolean =>
  startedIn(cookieHeader).includes(uid);

export const withStarted = (cookieHeader: string | undefined, uid: string) => ({
  name: STARTED_COOKIE,
  value: [uid, ...startedIn(cookieHeader)].slice(0, STARTED_MAX).join('.'),
});

const startedIn = (cookieHeader = ''): readonly string[] => {
  const started = parseCookie(cookieHeader)[STARTED_COOKIE];
  return started === undefined ? [] : started.split('.');
};

/** Removes the cookies that the library sets and this service never reads. */
export const usedCookies = (lines: readonly string[]): readonly string[] =>
  lines.filter(
    (line) => !UNUSED_COOKIES.some((name) => line.startsWith(`${name}=`) || line.startsWith(`${name}.`)),
  );
