import { createRootRoute, createRoute, createRouter, Outlet } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { Center, Loader } from '@mantine/core';
import { reloadOnce } from './reload-once.ts';
import { screens, type Screen } from './screens.ts';
import { Shell } from './shell.tsx';
import { entryScreens } from './entry-screens.ts';
import { Failed, NotFound } from './not-found.tsx';

const Waiting = () => (
  <Center mih={200}>
    <Loader aria-label="Loading" />
  </Center>
);

const lazyScreen = ({ load }: Pick<Screen, 'load'>) => {
  const Loaded = lazy(() => load().catch(reloadOnce));
  return () => (
    <Suspense fallback={<Waiting />}>
      <Loaded />
    </Suspense>
  );
};

const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: NotFound });
const shellRoute = createRoute({ getParentRoute: () => rootRoute, id: 'shell', component: Shell });

const shellScreens = screens.map((screen) =>
  createRoute({ getParentRoute: () => shellRoute, path: screen.path, component: lazyScreen(screen) }),
);

const screensWithoutShell = entryScreens.map((screen) =>
  createRoute({ getParentRoute: () => rootRoute, path: screen.path, component: lazyScreen(screen) }),
);

/** The search of an address is plain text: what a person may read, write and share. */
export const router = createRouter({
  routeTree: rootRoute.addChildren([shellRoute.addChildren(shellScreens), ...screensWithoutShell]),
  basepath: '/console',
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(search as Record<string, string>).toString();
    return text === '' ? '' : `?${text}`;
  },
  defaultErrorComponent: Failed,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
});
