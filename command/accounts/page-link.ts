/** The part after `#`: browsers do not send it, so no log contains it. */
export const pageLink = (
  baseUrl: string,
  page: 'verify-email' | 'password-reset' | 'set-up' | 'invitation',
  token: string,
): string => `${baseUrl}/console/${page}#token=${token}`;
