export interface S3Location {
  readonly bucket: string;
  /** Empty, or ends with `/`. */
  readonly prefix: string;
  readonly region: string;
  /** Another store than Amazon S3; the bucket is then part of the path. */
  readonly endpoint?: string;
  /** Default: the SDK's credential chain. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^(?:[A-Za-z0-9_.-]+\/)*$/;
const REGION = /^[a-z0-9-]{1,40}$/;
const HTTP_AND_HOST = /^https?:\/\/[^/\\]/i;

/** `s3://[key:secret@]bucket[/prefix]?region=R[&endpoint=URL]`. @throws RangeError without the text */
export const parseS3Location = (text: string): S3Location => {
  if (!URL.canParse(text)) throw wrong();
  const { protocol, hostname, username, password, pathname, searchParams, hash, port } = new URL(text);
  const prefix = pathname.replace(/^\//, '').replace(/([^/])$/, '$1/');
  const region = searchParams.get('region') ?? 'us-east-1';
  const endpoint = searchParams.get('endpoint');
  const isKnown = [...searchParams.keys()].every((name) => name === 'region' || name === 'endpoint');
  const isWhole = (username === '') === (password === '');
  if (protocol !== 's3:' || hash !== '' || port !== '' || !isKnown || !isWhole) throw wrong();
  if (!BUCKET.test(hostname) || !PREFIX.test(prefix) || !REGION.test(region)) throw wrong();
  if (endpoint !== null && !(HTTP_AND_HOST.test(endpoint) && URL.canParse(endpoint))) throw wrong();
  return {
    bucket: hostname,
    prefix,
    region,
    ...(endpoint === null ? {} : { endpoint }),
    ...(username === ''
      ? {}
      : {
          credentials: {
            accessKeyId: decode(username),
            secretAccessKey: decode(password),
          },
        }),
  };
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong();
  }
};

const wrong = (): RangeError =>
  new RangeError(
    's3://[key:secret@]bucket[/prefix]?region=REGION[&endpoint=URL], key and secret percent-encoded',
  );
