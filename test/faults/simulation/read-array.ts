const OID_BOOL = 16;
const OID_INT4 = 23;
const OID_INT8 = 20;
const TWO_TO_32 = 2 ** 32;

/** The elements of an array parameter in Postgres' binary format (shared/postgres/binary-array.ts). */
export const readArray = (value: unknown): readonly (string | number | boolean)[] => {
  const buffer = value as Buffer;
  const type = buffer.readInt32BE(8);
  const count = buffer.readInt32BE(12);
  const elements: (string | number | boolean)[] = [];
  for (let index = 0, at = 20; index < count; index += 1) {
    const length = buffer.readInt32BE(at);
    at += 4;
    if (type === OID_BOOL) elements.push(buffer.readUInt8(at) === 1);
    else if (type === OID_INT4) elements.push(buffer.readInt32BE(at));
    else if (type === OID_INT8)
      elements.push(buffer.readInt32BE(at) * TWO_TO_32 + buffer.readUInt32BE(at + 4));
    else elements.push(buffer.toString('utf8', at, at + length));
    at += length;
  }
  return elements;
};
