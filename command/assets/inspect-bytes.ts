import { isUtf8 } from 'node:buffer';
import { ApiError } from '../../shared/http/errors.ts';
import type { ByteSource } from '../../shared/storage/object-store.ts';
import { detectType, HEAD_BYTES, mayBe } from './detect-type.ts';
import { UnreadableMediaError, type MediaFacts } from './media-facts.ts';
import { readMedia } from './read-media.ts';
import { mediaTypeOf } from '../../shared/storage/media-types.ts';

export interface InspectedBytes extends MediaFacts {
  readonly textContent?: string;
}

const TEXT_BYTES_MAX = 8_192;

/** @throws ApiError UNSUPPORTED_MEDIA_TYPE when the bytes contradict the declared type */
export const inspectBytes = async (mimeType: string, source: ByteSource): Promise<InspectedBytes> => {
  const head = await source.readAt(0, HEAD_BYTES);
  const detected = await detectType(head);
  if (!mayBe(mimeType, detected, head)) throw contradicted(mimeType, detected);
  try {
    return mediaTypeOf(mimeType).bytes === 'text'
      ? await textOf(mimeType, source)
      : await readMedia(detected, source);
  } catch (error) {
    // A type without a parser is accepted: the first bytes may resemble a film (HEIC does) without being one.
    if (error instanceof UnreadableMediaError && mediaTypeOf(mimeType).bytes === 'any') return {};
    if (error instanceof UnreadableMediaError) throw damaged(mimeType, error.message);
    throw error;
  }
};

const contradicted = (mimeType: string, detected: string | undefined): ApiError =>
  new ApiError({
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message:
      detected === undefined
        ? `The upload was reserved for ${mimeType}, but its bytes are not of that type. Send a file of that type.`
        : `The upload was reserved for ${mimeType}, but its bytes are ${detected}. Reserve an upload for that type.`,
  });

const damaged = (mimeType: string, problem: string): ApiError =>
  new ApiError({
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: `The bytes are damaged or incomplete for ${mimeType} (${problem}). Send the whole file.`,
  });

/** Text in an encoding other than UTF-8 is treated as opaque bytes. */
const textOf = async (mimeType: string, source: ByteSource): Promise<{ textContent?: string }> => {
  if (mimeType !== 'text/plain' || source.bytes > TEXT_BYTES_MAX) return {};
  const bytes = await source.readAt(0, source.bytes);
  return isUtf8(bytes) && !bytes.includes(0) ? { textContent: bytes.toString('utf8') } : {};
};
