import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider';

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);

/** For errors that must not be sent to the redirect URI, because it may be an attacker's (RFC 6749, 4.1.2.1). */
export const renderErrorPage = (
  ctx: KoaContextWithOIDC,
  { error, error_description: description }: ErrorOut,
): void => {
  ctx.type = 'html';
  ctx.body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>The app could not be connected</title>
<h1>The app could not be connected</h1>
<p>Go back to the app and connect it again. If this page returns, tell the maker of the app:</p>
<p><code>${escaped([error, description].filter(Boolean).join(': '))}</code></p>
</html>
`;
};
