/** A client declares it when it registers, in its metadata document, or through the operator. */
export interface ClientMetadata {
  readonly client_name: string;
  readonly redirect_uris: readonly string[];
  readonly application_type: 'native' | 'web';
  readonly grant_types: readonly string[];
  readonly response_types: readonly ['code'];
  readonly response_modes: readonly ['query'];
  readonly token_endpoint_auth_method: 'none';
}

/** RFC 7591, 3.2.2. */
export class ClientRefusedError extends Error {
  override readonly name = 'ClientRefusedError';
  readonly code: 'invalid_redirect_uri' | 'invalid_client_metadata';

  constructor(code: ClientRefusedError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const NAME_CODE_POINTS_MAX = 120;
const REDIRECT_URIS_MAX = 10;
const REDIRECT_URI_LENGTH_MAX = 2_000;
const GRANT_TYPES = ['authorization_code', 'refresh_token'];

/** Control characters, and characters that reorder or hide text: a name must show what it is. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u;

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Private schemes without a dot that existing clients use, against RFC 8252, 7.1. */
const KNOWN_SCHEMES = new Set(['cursor:', 'vscode:', 'vscode-insiders:', 'windsurf:', 'zed:']);

/**
 * Only these members are used: others name keys and documents to fetch, or personal data.
 * @throws ClientRefusedError
 */
export const clientMetadata = (given: Readonly<Record<string, unknown>>): ClientMetadata => {
  const redirects = redirectUris(given['redirect_uris']);
  const isNative = redirects.some(
    ({ protocol, hostname }) => protocol !== 'https:' || LOOPBACK.has(hostname),
  );
  const type = given['application_type'] ?? (isNative ? 'native' : 'web');
  if (type !== 'native' && type !== 'web') throw refused('application_type must be native or web');
  return {
    client_name: nameOf(given['client_name'], redirects[0]),
    redirect_uris: given['redirect_uris'] as readonly string[],
    application_type: type,
    grant_types: grantTypesOf(given['grant_types']),
    response_types: responseTypesOf(given['response_types']),
    // A page that submits a form would need a script, which our pages do not allow.
    response_modes: ['query'],
    token_endpoint_auth_method: 'none',
  };
};

const refused = (message: string): ClientRefusedError =>
  new ClientRefusedError('invalid_client_metadata', message);

const badRedirect = (message: string): ClientRefusedError =>
  new ClientRefusedError('invalid_redirect_uri', message);

const nameOf = (name: unknown, first: URL): string => {
  if (name === undefined) return first.host === '' ? first.protocol.slice(0, -1) : first.host;
  if (typeof name !== 'string' || name.trim() === '') throw refused('client_name must be text');
  if (Array.from(name).length > NAME_CODE_POINTS_MAX) {
    throw refused(`client_name must have at most ${NAME_CODE_POINTS_MAX} characters`);
  }
  if (HIDDEN.test(name)) throw refused('client_name must not contain control or invisible characters');
  return name;
};

const redirectUris = (uris: unknown): readonly [URL, ...URL[]] => {
  if (!Array.isArray(uris) || uris.length === 0) throw badRedirect('redirect_uris must be a list');
  if (uris.length > REDIRECT_URIS_MAX) {
    throw badRedirect(`redirect_uris must contain at most ${REDIRECT_URIS_MAX} URIs`);
  }
  const [first, ...others] = uris as readonly unknown[];
  return [redirectUri(first), ...others.map(redirectUri)];
};

const redirectUri = (uri: unknown): URL => {
  if (typeof uri !== 'string' || uri.length > REDIRECT_URI_LENGTH_MAX || !URL.canParse(uri)) {
    throw badRedirect(`a redirect URI must be a URI of at most ${REDIRECT_URI_LENGTH_MAX} characters`);
  }
  const url = new URL(uri);
  if (/\s/u.test(uri) || HIDDEN.test(uri)) {
    throw badRedirect('a redirect URI must not contain spaces, control or invisible characters');
  }
  if (uri.includes('#')) throw badRedirect('a redirect URI must not contain a fragment');
  if (url.username !== '' || url.password !== '') {
    throw badRedirect('a redirect URI must not contain a user name or password');
  }
  if (!isAllowed(url)) {
    throw badRedirect(
      'a redirect URI must use https, http on a loopback address, or a private scheme with a dot such as com.example.app',
    );
  }
  return url;
};

const isAllowed = ({ protocol, hostname }: URL): boolean => {
  if (protocol === 'https:') return hostname !== '';
  if (protocol === 'http:') return LOOPBACK.has(hostname);
  return protocol.includes('.') || KNOWN_SCHEMES.has(protocol);
};

const grantTypesOf = (types: unknown): readonly string[] => {
  if (types === undefined) return ['authorization_code'];
  if (!Array.isArray(types)) throw refused('grant_types must be a list');
  if (!types.includes('authorization_code')) throw refused('grant_types must contain authorization_code');
  return GRANT_TYPES.filter((type) => types.includes(type));
};

const responseTypesOf = (types: unknown): readonly ['code'] => {
  if (types !== undefined && !(Array.isArray(types) && types.includes('code'))) {
    throw refused('response_types must contain code');
  }
  return ['code'];
};
