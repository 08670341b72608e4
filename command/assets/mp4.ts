import type { ByteSource } from '../../shared/storage/object-store.ts';
import { UnreadableMediaError, type MediaFacts } from './media-facts.ts';

/** A box of ISO 14496-12. */
interface Box {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** Per file, and for its `moov`. Each box costs a read of 16 bytes. */
const BOXES_MAX = 4_000;

/** The displayed size of the first video track. @throws UnreadableMediaError if boxes do not nest */
export const readMp4 = async (source: ByteSource): Promise<MediaFacts> => {
  const moov = await walker(source).find({ start: 0, end: source.bytes }, 'moov');
  if (moov === undefined) throw new UnreadableMediaError('no moov');
  const walk = walker(source);
  const children = await walk.children(moov);
  const mvhd = children.find(({ type }) => type === 'mvhd');
  if (mvhd === undefined) throw new UnreadableMediaError('no mvhd');
  const duration = await durationOf(source, mvhd, await fragmentsOf(source, walk, children));
  const size = await sizeOf(source, walk, children);
  return { ...size, ...(duration === undefined ? {} : { durationMs: duration }) };
};

type Walk = ReturnType<typeof walker>;

const walker = (source: ByteSource) => {
  let boxes = 0;
  const boxAt = async (start: number, parentEnd: number): Promise<Box> => {
    if (++boxes > BOXES_MAX) throw new UnreadableMediaError('more boxes than any player reads');
    const head = await source.readAt(start, 16);
    if (head.length < 8) throw new UnreadableMediaError('a box is cut off');
    const short = head.readUInt32BE(0);
    const isLong = short === 1;
    if (isLong && head.length < 16) throw new UnreadableMediaError('a box is cut off');
    const headBytes = isLong ? 16 : 8;
    // 0 means: to the end of the file.
    const size = isLong ? Number(head.readBigUInt64BE(8)) : short === 0 ? parentEnd - start : short;
    if (size < headBytes || start + size > parentEnd) throw new UnreadableMediaError('a box does not fit');
    return { type: head.toString('latin1', 4, 8), start: start + headBytes, end: start + size };
  };
  const each = async function* ({ start, end }: Pick<Box, 'start' | 'end'>): AsyncGenerator<Box> {
    for (let at = start; at < end;) {
      const box = await boxAt(at, end);
      yield box;
      at = box.end;
    }
  };
  return {
    children: async (parent: Box): Promise<readonly Box[]> => {
      const found: Box[] = [];
      for await (const box of each(parent)) found.push(box);
      return found;
    },
    /** Reads on to the end, to detect a truncated file, but at most `BOXES_MAX` boxes of a fragmented film. */
    find: async (parent: Pick<Box, 'start' | 'end'>, type: string): Promise<Box | undefined> => {
      let found: Box | undefined;
      for await (const box of each(parent)) {
        if (box.type === type) found ??= box;
        if (found !== undefined && boxes === BOXES_MAX) break;
      }
      return found;
    },
  };
};

/** Version 1 of a box has 64-bit fields where version 0 has 32-bit fields. */
const readFields = async (source: ByteSource, { start, end }: Box, length: number) => {
  const content = await source.readAt(start, Math.min(length, end - start));
  const isLong = content[0] === 1;
  return {
    isLong,
    content,
    /** Undefined when all bits are set, which means "unknown". */
    time: (at: number): number | undefined => {
      if (at + (isLong ? 8 : 4) > content.length) throw new UnreadableMediaError('a header is cut off');
      const value = isLong ? content.readBigUInt64BE(at) : BigInt(content.readUInt32BE(at));
      return value === (isLong ? 0xffff_ffff_ffff_ffffn : 0xffff_ffffn) ? undefined : Number(value);
    },
    u32: (at: number): number => {
      if (at + 4 > content.length) throw new UnreadableMediaError('a header is cut off');
      return content.readUInt32BE(at);
    },
  };
};

/** The duration of a fragmented file from `mehd`, in units of the film. */
const fragmentsOf = async (
  source: ByteSource,
  walk: Walk,
  moov: readonly Box[],
): Promise<number | undefined> => {
  const mvex = moov.find(({ type }) => type === 'mvex');
  const mehd = mvex === undefined ? undefined : await walk.find(mvex, 'mehd');
  if (mehd === undefined) return undefined;
  return (await readFields(source, mehd, 12)).time(4);
};

/** Longer than any film. A larger value is invalid and could not be stored. */
const DURATION_MS_MAX = 2_147_483_647;

const durationOf = async (
  source: ByteSource,
  mvhd: Box,
  fragments: number | undefined,
): Promise<number | undefined> => {
  const fields = await readFields(source, mvhd, 36);
  const timescale = fields.u32(fields.isLong ? 20 : 12);
  const units = fields.time(fields.isLong ? 24 : 16) || fragments;
  if (timescale === 0 || units === undefined || units === 0) return undefined;
  const ms = Math.round((units / timescale) * 1_000);
  return ms > DURATION_MS_MAX ? undefined : ms;
};

const sizeOf = async (
  source: ByteSource,
  walk: Walk,
  moov: readonly Box[],
): Promise<Pick<MediaFacts, 'width' | 'height'>> => {
  for (const trak of moov.filter(({ type }) => type === 'trak')) {
    const children = await walk.children(trak);
    const mdia = children.find(({ type }) => type === 'mdia');
    const tkhd = children.find(({ type }) => type === 'tkhd');
    const hdlr = mdia === undefined ? undefined : await walk.find(mdia, 'hdlr');
    if (tkhd === undefined || hdlr === undefined) continue;
    if ((await source.readAt(hdlr.start + 8, 4)).toString('latin1') !== 'vide') continue;
    const fields = await readFields(source, tkhd, 96);
    const matrix = fields.isLong ? 52 : 40;
    // 16.16 fixed point.
    const width = Math.round(fields.u32(matrix + 36) / 65_536);
    const height = Math.round(fields.u32(matrix + 40) / 65_536);
    if (width === 0 || height === 0) continue;
    // A quarter turn: the diagonal of the matrix is 0.
    const isTurned = fields.u32(matrix) === 0 && fields.u32(matrix + 16) === 0;
    return isTurned ? { width: height, height: width } : { width, height };
  }
  return {};
};
