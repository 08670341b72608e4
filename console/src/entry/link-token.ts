/**
 * The token of a link in a mail. It leaves the address before anything else reads it, so that neither the history nor a
 * screenshot shows it.
 */
const tokenInAddress = (): string => new URLSearchParams(location.hash.slice(1)).get('token') ?? '';

export const linkToken = tokenInAddress();

if (linkToken !== '') history.replaceState(null, '', location.pathname + location.search);
// A link to this same page, opened in its tab, loads nothing by itself.
addEventListener('hashchange', () => {
  if (tokenInAddress() !== '') location.reload();
});
