import type { Screen } from './screens.ts';

/** Screens without the shell: for people who have no session yet, and the consent to an app. */
export const entryScreens: readonly Pick<Screen, 'path' | 'load'>[] = [
  { path: '/sign-in', load: () => import('../entry/sign-in.tsx') },
  { path: '/sign-up', load: () => import('../entry/sign-up.tsx') },
  { path: '/verify-email', load: () => import('../entry/verify-email.tsx') },
  { path: '/password-reset', load: () => import('../entry/password-reset.tsx') },
  { path: '/set-up', load: () => import('../entry/set-up.tsx') },
  { path: '/invitation', load: () => import('../entry/invitation.tsx') },
  { path: '/oauth/$uid', load: () => import('../entry/consent.tsx') },
];
