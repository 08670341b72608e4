/** A page of the console: `pages/<name>.html` is its main part. */
export interface ConsolePage {
  readonly name: string;
  readonly path: string;
  readonly title: string;
}

export const consolePages: readonly ConsolePage[] = [
  { name: 'sign-in', path: '/console/sign-in', title: 'Sign in' },
  { name: 'sign-up', path: '/console/sign-up', title: 'Create an account' },
  { name: 'verify-email', path: '/console/verify-email', title: 'Confirm your e-mail address' },
  { name: 'password-reset', path: '/console/password-reset', title: 'Reset your password' },
  { name: 'set-up', path: '/console/set-up', title: 'Set up your sign-in' },
  { name: 'invitation', path: '/console/invitation', title: 'Accept an invitation' },
  { name: 'consent', path: '/console/oauth/{uid}', title: 'Allow access' },
  { name: 'account', path: '/console/account', title: 'Your account' },
];

/** What the pages load, by media type. */
export const consoleFiles = {
  'pages.js': 'text/javascript; charset=utf-8',
  'pages.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const;

/** The script shows the main part: without it, nothing there works. */
export const documentOf = (title: string, main: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Buyer Exchange</title>
<link rel="icon" href="/console/icon.svg">
<link rel="stylesheet" href="/console/pages.css">
<script type="module" src="/console/pages.js"></script>
</head>
<body>
<header>Buyer Exchange</header>
<noscript><p>This page needs JavaScript. Allow it for this site, and load the page again.</p></noscript>
<main hidden>
${main}</main>
<p id="status" role="status"></p>
</body>
</html>
`;
