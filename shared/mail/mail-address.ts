/** In characters, as RFC 5321 bounds a path. */
const ADDRESS_LENGTH_MAX = 254;
/** No quoted local parts and no lists: a separator could name a second recipient, a line break a second header. */
const ADDRESS = /^[^\s\p{Cc}@<>()[\],;:"\\]{1,64}@[^\s\p{Cc}@<>()[\],;:"\\]+$/u;

export const isMailAddress = (text: string): boolean =>
  text.length <= ADDRESS_LENGTH_MAX && text.isWellFormed() && ADDRESS.test(text);

export interface Sender {
  /** May be empty. */
  readonly name: string;
  readonly address: string;
}

const NAME_AND_ADDRESS = /^([^<>"\p{Cc}]{0,100}?) *<([^<>]+)>$/u;

/** `address` or `Name <address>`. @throws RangeError without the text */
export const parseSender = (text: string): Sender => {
  const [, name = '', address = text] = NAME_AND_ADDRESS.exec(text) ?? [];
  if (!isMailAddress(address)) throw new RangeError('must be an address, or a name and an <address>');
  return { name, address };
};

export const hostOf = (address: string): string => address.slice(address.indexOf('@') + 1);
