/**
 * One-dimensional array parameters in Postgres' binary format. `pg` sends a Buffer as a binary parameter, and
 * Postgres reads it without parsing: 10 to 15 ms less per 10,000 elements than arrays printed as text.
 * The statement must give the parameter its type (a function's signature, a cast).
 */

const OID = { bool: 16, bytea: 17, int4: 23, int8: 20, text: 25, uuid: 2950 } as const;

/** dimensions, "has nulls", element type; then size and lower bound of the one dimension */
const HEADER_BYTES = 20;
const TWO_TO_32 = 2 ** 32;

const start = (elementType: number, count: number, elementBytes: number): Buffer => {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + 4 * count + elementBytes);
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(0, 4);
  buffer.writeInt32BE(elementType, 8);
  buffer.writeInt32BE(count, 12);
  buffer.writeInt32BE(1, 16);
  return buffer;
};

export const boolArray = (values: readonly boolean[]): Buffer => {
  const buffer = start(OID.bool, values.length, values.length);
  let at = HEADER_BYTES;
  for (const value of values) {
    buffer.writeInt32BE(1, at);
    buffer.writeUInt8(value ? 1 : 0, at + 4);
    at += 5;
  }
  return buffer;
};

/** @param values 32-bit integers */
export const int4Array = (values: readonly number[]): Buffer => {
  const buffer = start(OID.int4, values.length, 4 * values.length);
  let at = HEADER_BYTES;
  for (const value of values) {
    buffer.writeInt32BE(4, at);
    buffer.writeInt32BE(value, at + 4);
    at += 8;
  }
  return buffer;
};

/** @param values safe integers */
export const int8Array = (values: readonly number[]): Buffer => {
  const buffer = start(OID.int8, values.length, 8 * values.length);
  let at = HEADER_BYTES;
  for (const value of values) {
    buffer.writeInt32BE(8, at);
    buffer.writeInt32BE(Math.floor(value / TWO_TO_32), at + 4);
    buffer.writeUInt32BE(value >>> 0, at + 8);
    at += 12;
  }
  return buffer;
};

/** @param values UUIDs in their usual form of 36 characters */
export const uuidArray = (values: readonly string[]): Buffer => {
  const buffer = start(OID.uuid, values.length, 16 * values.length);
  let at = HEADER_BYTES;
  for (const value of values) {
    buffer.writeInt32BE(16, at);
    const written = buffer.write(value.replaceAll('-', ''), at + 4, 16, 'hex');
    if (written !== 16) throw new RangeError('not a UUID');
    at += 20;
  }
  return buffer;
};

/** @param values text without U+0000, which Postgres refuses */
export const textArray = (values: readonly string[]): Buffer => {
  const lengths = values.map((value) => Buffer.byteLength(value));
  let total = 0;
  for (const length of lengths) total += length;
  const buffer = start(OID.text, values.length, total);
  let at = HEADER_BYTES;
  values.forEach((value, index) => {
    const length = lengths[index] as number;
    buffer.writeInt32BE(length, at);
    // As many bytes as characters: plain ASCII, which is copied without looking at it.
    buffer.write(value, at + 4, length, length === value.length ? 'latin1' : 'utf8');
    at += 4 + length;
  });
  return buffer;
};

export const byteaArray = (values: readonly Buffer[]): Buffer => {
  let total = 0;
  for (const { length } of values) total += length;
  const buffer = start(OID.bytea, values.length, total);
  let at = HEADER_BYTES;
  for (const value of values) {
    buffer.writeInt32BE(value.length, at);
    value.copy(buffer, at + 4);
    at += 4 + value.length;
  }
  return buffer;
};
