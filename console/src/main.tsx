import './entry/link-token.ts';
import '@mantine/core/styles.layer.css';
import '@mantine/notifications/styles.layer.css';
import '@mantine/spotlight/styles.layer.css';
import { createTheme, MantineProvider, type CSSVariablesResolver } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/query.ts';
import { InsecurePage } from './shell/insecure-page.tsx';
import { router } from './shell/router.tsx';

/** The policy allows style elements with this value only: the service makes a new one for each answer. */
const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
// `react-remove-scroll`, below the dialogs of Mantine, looks for it here.
Object.assign(globalThis, { __webpack_nonce__: nonce });

const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 7, dark: 8 },
  autoContrast: true,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  respectReducedMotion: true,
  components: {
    Drawer: { defaultProps: { position: 'right', closeButtonProps: { 'aria-label': 'Close' } } },
    Modal: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
  },
});

/** Enough contrast for small text (WCAG 2.2 AA). */
const variables: CSSVariablesResolver = ({ colors: { gray, dark } }) => ({
  variables: {},
  light: { '--mantine-color-dimmed': gray[7], '--mantine-color-placeholder': gray[7] },
  dark: { '--mantine-color-dimmed': dark[1], '--mantine-color-placeholder': dark[1] },
});

const root = document.querySelector('#root');
if (root === null) throw new Error('index.html has no #root');

createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      cssVariablesResolver={variables}
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" />
        {isSecureContext ? <RouterProvider router={router} /> : <InsecurePage />}
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
