import { errorCodes, type ErrorBody } from './errors.ts';

/** RFC 6749, 5.2, and RFC 8628, 3.5: what OAuth clients read instead of the envelope. */
export const oauthErrorBody = ({ code, message }: ErrorBody): string =>
  JSON.stringify({ error: oauthErrorOf(errorCodes[code].status), error_description: described(message) });

const oauthErrorOf = (status: number): string => {
  switch (status) {
    case 401:
      return 'invalid_token';
    case 403:
      return 'access_denied';
    case 429:
      return 'slow_down';
    case 503:
      return 'temporarily_unavailable';
    default:
      return status >= 500 ? 'server_error' : 'invalid_request';
  }
};

/** RFC 6749, 5.2 excludes `"`, `\` and everything beyond ASCII. */
const described = (message: string): string => message.replaceAll(/[^\x20-\x21\x23-\x5B\x5D-\x7E]/g, "'");
